package tarball

import (
	"fmt"
	"io"
	"runtime"

	"github.com/klauspost/compress/zstd"
)

// frameBytes is the most that one zstd frame of a tarball holds. Frames are
// independent, so that a file in the middle is read without all before it; the
// larger they are the less that costs in size.
const frameBytes = 2 << 20

// maxPackers bounds how many frames of one tarball are compressed at once: each
// holds a frame and the tables of an encoder, about 4 MiB.
const maxPackers = 4

// frame is how many bytes one has, packed and unpacked, or where it begins.
type frame struct{ packed, plain int64 }

// frameWriter gathers what is written to it into frames, and compresses several
// at once: whoever writes reads on meanwhile. They leave in their order.
type frameWriter struct {
	out     io.Writer
	options []zstd.EOption
	most    int
	present []byte // the frame that is gathered
	idle    []*packer
	busy    []*packer // in the order of their frames
	limit   int       // of packers
	frames  []frame   // that were written
	plain   int64     // bytes of all frames but the present one
}

// packer compresses one frame after the other.
type packer struct {
	zw            *zstd.Encoder
	plain, packed []byte
	done          chan struct{}
}

// newFrameWriter writes frames of at most so many bytes, 0 for frameBytes, with
// at most so many at once, 0 for one a core.
func newFrameWriter(w io.Writer, most, limit int, o ...zstd.EOption) *frameWriter {
	if most <= 0 {
		most = frameBytes
	}
	if limit <= 0 {
		limit = min(runtime.GOMAXPROCS(0), maxPackers)
	}
	o = append(o, zstd.WithWindowSize(most), zstd.WithEncoderConcurrency(1))
	return &frameWriter{out: w, options: o, most: most, limit: limit}
}

// at is how much was written, unpacked.
func (f *frameWriter) at() int64 { return f.plain + int64(len(f.present)) }

// Write implements io.Writer.
func (f *frameWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if len(f.present) == f.most {
			if err := f.cut(); err != nil {
				return n, err
			}
		}
		part := p[:min(len(p), f.most-len(f.present))]
		f.present = append(f.present, part...)
		p, n = p[len(part):], n+len(part)
	}
	return n, nil
}

// fit ends the present frame when what comes next would not fit into it and
// fits into one of its own, so that few files lie in two. A frame that is not
// half full goes on.
func (f *frameWriter) fit(next int64) error {
	held, most := int64(len(f.present)), int64(f.most)
	if held >= most/2 && next <= most && held+next > most {
		return f.cut()
	}
	return nil
}

// cut ends the present frame, if there is one.
func (f *frameWriter) cut() error {
	if len(f.present) == 0 {
		return nil
	}
	p, err := f.packer()
	if err != nil {
		return err
	}
	f.plain += int64(len(f.present))
	p.plain, f.present = f.present, p.plain[:0]
	p.done = make(chan struct{})
	f.busy = append(f.busy, p)
	go p.pack()
	return nil
}

// packer returns one that has nothing to do.
func (f *frameWriter) packer() (*packer, error) {
	if len(f.busy) == f.limit {
		if err := f.writeFirst(); err != nil {
			return nil, err
		}
	}
	if n := len(f.idle); n > 0 {
		p := f.idle[n-1]
		f.idle = f.idle[:n-1]
		return p, nil
	}
	zw, err := zstd.NewWriter(nil, f.options...)
	if err != nil {
		return nil, fmt.Errorf("start zstd: %w", err)
	}
	return &packer{zw: zw}, nil
}

func (p *packer) pack() {
	defer close(p.done)
	p.packed = p.zw.EncodeAll(p.plain, p.packed[:0])
}

// writeFirst writes the oldest frame of those that are compressed.
func (f *frameWriter) writeFirst() error {
	p := f.busy[0]
	<-p.done
	f.busy, f.idle = f.busy[1:], append(f.idle, p)
	f.frames = append(f.frames, frame{int64(len(p.packed)), int64(len(p.plain))})
	_, err := f.out.Write(p.packed)
	return err
}

// finish ends the present frame and writes what is left.
func (f *frameWriter) finish() error {
	if err := f.cut(); err != nil {
		return err
	}
	for len(f.busy) > 0 {
		if err := f.writeFirst(); err != nil {
			return err
		}
	}
	return nil
}

// close waits for what is being compressed; nobody wants it.
func (f *frameWriter) close() {
	for _, p := range f.busy {
		<-p.done
	}
}
