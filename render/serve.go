package render

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
	"github.com/axle-cd/axle/internal/frame"
	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/tree"
)

// Limits of one child. Both bound the effect of leaks in renderers. An idle start costs
// some 20 ms of CPU, which is negligible over 100 passes.
const (
	MaxPasses = 100
	MaxLife   = 60 * time.Second
)

// Serve reads passes from in and answers them on out until in ends, or until the
// child has served MaxPasses or lived for MaxLife. It then returns nil, and an error
// if the parent violates the protocol or goes away.
func Serve(in io.Reader, out io.Writer, rare Rare) error {
	reader := bufio.NewReaderSize(in, 64<<10)
	born := time.Now()
	for served := 0; served < MaxPasses && time.Since(born) < MaxLife; served++ {
		err := serveOne(reader, out, rare)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		// The next pass may need the whole limit. A collection costs more than a
		// small pass, so that after small passes it is left to the collector.
		if heapBytes() > keptHeap {
			runtime.GC()
		}
	}
	return nil
}

// keptHeap is how many bytes a pass may leave uncollected.
const keptHeap = 48 << 20

// An input of more than largeInput bytes is rendered with a collector target that
// leaves half as much garbage: large inputs come close to the limit, and with less
// garbage the peak varies less. It costs them a fifth more processor time. A chart becomes
// far less than a kustomization of its size, so it leaves more garbage than usual: near the
// soft limit the collector works anyway.
const (
	largeInput = 2 << 20
	largeGC    = 50
	usualGC    = 100
	chartGC    = 400
)

// collect sets the collector's target for a step.
func (p *pass) collect(kind string) {
	target := usualGC
	switch {
	case kind == stepHelm:
		target = chartGC
	case p.files.Bytes() > largeInput:
		target = largeGC
	}
	debug.SetGCPercent(target)
}

// heapBytes is the size of all objects, including unreachable ones.
func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// serveOne receives one pass, runs it and sends its result.
func serveOne(in io.Reader, out io.Writer, rare Rare) error {
	files := tree.New()
	begin, judge, refused, err := receive(in, files)
	if err != nil {
		return err
	}
	if judge != nil {
		verdicts := &renderv1.Verdicts{Rare: true}
		if rare.Judge != nil {
			verdicts = rare.Judge(judge)
		}
		return frame.Write(out, &renderv1.ToParent{Message: &renderv1.ToParent_Verdicts{Verdicts: verdicts}})
	}
	result := &renderv1.Result{}
	if refused == nil {
		defer debug.SetGCPercent(debug.SetGCPercent(usualGC))
		p := newPass(files, begin, &parent{in: in, out: out}, rare.Renderers)
		result, refused = run(p)
	}
	switch {
	case errors.Is(refused, errRare):
		result = &renderv1.Result{Rare: true}
	case refused != nil:
		result = &renderv1.Result{Failure: failure(refused)}
	}
	message := &renderv1.ToParent{Message: &renderv1.ToParent_Result{Result: result}}
	err = frame.Write(out, message)
	if errors.Is(err, frame.ErrTooLong) {
		result = &renderv1.Result{Failure: &renderv1.Failure{Message: fmt.Sprintf(
			"the rendered objects are larger than %d MiB together; split the service", frame.MaxBytes>>20)}}
		err = frame.Write(out, &renderv1.ToParent{Message: &renderv1.ToParent_Result{Result: result}})
	}
	return err
}

// receive reads a pass's files up to its begin frame. A rejected file fails the pass,
// not the pipe: the rest of the pass is still read. A judge frame comes without
// files.
func receive(in io.Reader, files *tree.Tree) (begin *renderv1.Begin, judge *renderv1.Judge, refused, err error) {
	for count := 0; ; count++ {
		var message renderv1.ToChild
		if err := frame.Read(in, &message); err != nil {
			if errors.Is(err, io.EOF) && count > 0 {
				return nil, nil, nil, io.ErrUnexpectedEOF
			}
			return nil, nil, nil, err
		}
		switch m := message.GetMessage().(type) {
		case *renderv1.ToChild_File:
			if err := add(files, m.File); err != nil && refused == nil {
				refused = err
			}
		case *renderv1.ToChild_Begin:
			if refused == nil {
				refused = files.Seal()
			}
			return m.Begin, nil, refused, nil
		case *renderv1.ToChild_Judge:
			if count > 0 {
				return nil, nil, nil, errors.New("a judge frame among the files of a pass")
			}
			return nil, m.Judge, nil, nil
		default:
			return nil, nil, nil, fmt.Errorf("unexpected frame %T before a pass began", m)
		}
	}
}

func add(files *tree.Tree, f *renderv1.File) error {
	switch {
	case f.GetLink() != "":
		return files.Link(f.GetPath(), f.GetLink())
	case f.GetOmittedBytes() > 0:
		return files.Omit(f.GetPath(), f.GetOmittedBytes())
	case len(f.GetContent()) > manifest.MaxFileBytes:
		// The agent omits such content; the limit must not depend on that.
		return files.Omit(f.GetPath(), int64(len(f.GetContent())))
	}
	return files.Add(f.GetPath(), f.GetContent())
}

// run renders one pass. A renderer's panic is a failure of the pass; the parent discards
// a child after any failure.
func run(p *pass) (result *renderv1.Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the renderer crashed on this input: %v; %.2000s", r, debug.Stack())
		}
	}()
	return p.render()
}
