package render

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/pool"
)

// Limits that the runner enforces; the child enforces its memory limit itself.
const (
	defaultPool    = 2
	defaultCPU     = 30 * time.Second
	defaultTimeout = 5 * time.Minute
	// A little less than the child's own limit, so that a child that is about to end
	// is not chosen.
	maxPasses = 100
	maxLife   = 55 * time.Second
	// childNice is how much nicer than the agent a child is: it leaves a tenth of a processor that
	// the agent wants too.
	childNice = 10
)

// Config configures the children.
type Config struct {
	// Binary is axle-render, see Find. The program with all renderers is beside it, with
	// "-rare" added to the name.
	Binary string
	// Tools is a folder with tools for EXEC and WASM steps; empty means none.
	Tools string
	// Work is the folder for tools' private folders, used by this runner only; empty
	// is the system's folder for temporary files.
	Work string
	// Pool is how many children one project may have at once; zero is 2. Other projects
	// have places beside it, see pool.SizeFor.
	Pool int
	// Pools takes the pool of children; nil shows none.
	Pools *pool.Set
	// CPU is the processor time that a pass may take; zero is 30 s.
	CPU time.Duration
	// Timeout is how long a pass may take in all, including waiting; zero is 5 min.
	Timeout time.Duration
	// Log may be nil.
	Log *slog.Logger
}

// Runner renders passes in children. It is safe for concurrent use.
type Runner struct {
	config Config
	// version hashes the programs, which takes longer than most renders: only who
	// compares versions asks for it.
	version func() string
	tools   tools
	places  *pool.Places
	// judges allows one batch of objects to be judged at a time.
	judges chan struct{}

	mu   sync.Mutex
	idle []*child
	// judge is the child for health rules, while it waits for the next batch.
	judge  *child
	closed bool
}

// New checks that the program exists. Close ends its children.
func New(c Config) (*Runner, error) {
	var err error
	if c.Binary, err = Find(c.Binary); err != nil {
		return nil, err
	}
	if c.Pool <= 0 {
		c.Pool = defaultPool
	}
	if c.CPU <= 0 {
		c.CPU = defaultCPU
	}
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	tools, err := readTools(c.Tools)
	if err != nil {
		return nil, err
	}
	if c.Work != "" {
		// Remove what a killed process left there.
		removeAll(c.Work)
		if err := os.MkdirAll(c.Work, 0o700); err != nil {
			return nil, fmt.Errorf("create a folder for tools: %w", err)
		}
	}
	version := sync.OnceValue(func() string { return versionOf(c.Binary, tools.digest) })
	places := c.Pools.Places(pool.Spec{Name: "renders", Of: "render children", Size: pool.SizeFor(c.Pool), Patient: true})
	return &Runner{config: c, version: version, tools: tools, places: places, judges: make(chan struct{}, 1)}, nil
}

// Find finds axle-render: at the given path, beside this program, or on $PATH.
func Find(named string) (string, error) {
	if named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", errcode.New(errcode.Invalid, "--render-binary: %w", err)
		}
		return path, nil
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "axle-render")
		if info, err := os.Stat(beside); err == nil && !info.IsDir() {
			return beside, nil
		}
	}
	found, err := exec.LookPath("axle-render")
	if err != nil {
		return "", errcode.New(errcode.Invalid, "axle-render is neither beside axle-agent nor on $PATH; name it with --render-binary")
	}
	return found, nil
}

// versionOf is a hash of the programs and tools, because others may render
// differently. One that cannot be read may still run; its error stands for it.
func versionOf(binary, tools string) string {
	sum := sha256.New()
	io.WriteString(sum, tools)
	for _, path := range []string{binary, binary + rareSuffix} {
		err := identify(sum, path)
		if path != binary && errors.Is(err, fs.ErrNotExist) {
			// The error appears when a service needs it.
			continue
		}
		if err != nil {
			io.WriteString(sum, err.Error())
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// identify writes what tells a program from others: the ID that Go's linker made of its
// content, else all of it. The two programs have 110 MB, and reading them would be almost half
// of what an agent takes to start. Only programs of ELF are known so. It is no proof of integrity: a
// program that is patched in its place keeps its ID.
func identify(to io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	start := make([]byte, 32<<10)
	n, _ := io.ReadFull(f, start) // an error comes again below
	start = start[:n]
	if id := buildID(start); id != nil {
		_, err = to.Write(id)
		return err
	}
	_, err = io.Copy(to, io.MultiReader(bytes.NewReader(start), f))
	return err
}

// goBuildID is the form of the IDs that the go command gives to linkers: four hashes of 15
// bytes, the last one of the program's content. A builder with a -buildid of its own may use
// the same for all programs; Bazel does.
var goBuildID = regexp.MustCompile(`^[\w-]{20}(/[\w-]{20}){3}$`)

// buildID finds the ID at the beginning of a program, where Go's linker puts it: a note of ELF,
// the length of the ID before its kind and its owner's name. Nil is none, or not the go command's.
func buildID(start []byte) []byte {
	owner := []byte("\x04\x00\x00\x00Go\x00\x00")
	at := bytes.Index(start, owner)
	if !bytes.HasPrefix(start, []byte("\x7fELF")) || at < 4 {
		return nil
	}
	id := start[at+len(owner):]
	if length := uint64(binary.LittleEndian.Uint32(start[at-4:])); length <= uint64(len(id)) && goBuildID.Match(id[:length]) {
		return id[:length]
	}
	return nil
}

// rareSuffix is added to the name of the program with all renderers.
const rareSuffix = "-rare"

// Rare returns the program with all renderers, which is beside a render child.
func Rare(binary string) string { return binary + rareSuffix }

// errRare says that a pass needs the program with all renderers.
var errRare = errors.New("the pass wants the program with all renderers")

// rarely reports whether a step names a renderer that only that program has.
func rarely(steps []Step) bool {
	return slices.ContainsFunc(steps, func(s Step) bool { return s.Type == "JSONNET" || s.Type == "CUE" || s.Type == "WASM" })
}

// RendererVersion changes with the programs and tools that render. A result of
// another version is not reused.
func (r *Runner) RendererVersion() string { return r.version() }

// Render runs one pass. Its errors are coded: Invalid, with file and line, for what
// the service's author can fix; Exhausted for the limits of time, memory and size;
// Unavailable if the child could not run or the context ended; Internal for a crash.
func (r *Runner) Render(ctx context.Context, p Pass) (Result, error) {
	place, err := r.places.Wait(ctx, pool.Caller{Name: p.Project})
	if err != nil {
		return Result{}, fmt.Errorf("wait for a render child: %w", err)
	}
	defer place.Leave()
	rare := rarely(p.Steps)
	for {
		c, reused, err := r.take(p.Project, rare)
		if err != nil {
			return Result{}, err
		}
		result, err := r.pass(ctx, c, p)
		if err == nil {
			r.give(c)
			return result, nil
		}
		if errors.Is(err, errRare) && !rare {
			// Only the child can tell what AUTO finds.
			r.give(c)
			rare = true
			continue
		}
		c.settle(err)
		c.close()
		// A child may reach its maximum age between two passes; that is not an error.
		if reused && ctx.Err() == nil && c.state.Success() && !errcodeSet(err) {
			continue
		}
		return Result{}, r.explain(ctx, c, err)
	}
}

// take returns an idle child of the project, or a new one. The caller holds a place. Of
// those who hold none idle children are kept up to what one project may have: beyond, a
// child of another project is ended.
func (r *Runner) take(project string, rare bool) (c *child, reused bool, err error) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, false, errcode.New(errcode.Unavailable, "the agent is shutting down")
	}
	var old []*child
	keep := r.idle[:0]
	for _, candidate := range r.idle {
		switch {
		case worn(candidate):
			old = append(old, candidate)
		case c == nil && candidate.project == project && candidate.rare == rare:
			c = candidate
		default:
			keep = append(keep, candidate)
		}
	}
	r.idle = keep
	if c == nil && len(r.idle) > 0 && len(r.idle)+r.places.Used() > r.config.Pool {
		old = append(old, r.idle[0])
		r.idle = r.idle[1:]
	}
	r.mu.Unlock()
	for _, o := range old {
		o.close()
	}
	if c != nil {
		return c, true, nil
	}
	binary := r.config.Binary
	if rare {
		binary += rareSuffix
	}
	// Charts that loop slow down the agent less: the downloads and applies of others. Health rules,
	// which end by the time that passes, are judged in a child that is as quick as the agent.
	c, err = start(binary, project, childNice)
	if err != nil {
		return nil, false, errcode.New(errcode.Unavailable, "the render child %s does not start; put axle-render beside the agent, or name it with --render-binary: %w", binary, err)
	}
	c.rare = rare
	time.AfterFunc(maxLife, func() { r.retire(c) })
	return c, false, nil
}

// give returns a child for the next pass of its project.
func (r *Runner) give(c *child) {
	c.passes++
	r.mu.Lock()
	keep := !r.closed && !worn(c)
	if keep {
		r.idle = append(r.idle, c)
	}
	r.mu.Unlock()
	if !keep {
		c.close()
	}
}

// retire ends a child of maximum age if it is idle; otherwise give does it.
func (r *Runner) retire(c *child) {
	r.mu.Lock()
	for i, candidate := range r.idle {
		if candidate == c {
			r.idle = append(r.idle[:i], r.idle[i+1:]...)
			defer c.close()
			break
		}
	}
	r.mu.Unlock()
}

func worn(c *child) bool {
	select {
	case <-c.done:
		return true
	default:
		return c.passes >= maxPasses || time.Since(c.born) >= maxLife
	}
}

// Close ends idle children at once, and others when their pass ends. Render fails
// afterwards.
func (r *Runner) Close() {
	r.mu.Lock()
	r.closed = true
	idle := r.idle
	if r.judge != nil {
		idle = append(idle, r.judge)
	}
	r.idle, r.judge = nil, nil
	r.mu.Unlock()
	for _, c := range idle {
		c.close()
	}
	r.config.Log.Debug("render children ended", logkey.Count, len(idle))
}
