package tarball

import (
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// frameBytes is the most that one zstd frame of a tarball holds. Frames are
// independent, so that a file in the middle is read without all before it; the
// larger they are the less that costs in size.
const frameBytes = 2 << 20

// frame is how many bytes one has, packed and unpacked, or where it begins.
type frame struct{ packed, plain int64 }

// frameWriter compresses what is written to it as frames, one after the other.
type frameWriter struct {
	out    countingWriter
	zw     *zstd.Encoder
	most   int64
	open   bool
	frames []frame // that ended
	end    frame   // of them together
	held   int64   // by the present one, unpacked
}

type countingWriter struct {
	w io.Writer
	n int64
}

// Write implements io.Writer.
func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

func newFrameWriter(w io.Writer, most int, o ...zstd.EOption) (*frameWriter, error) {
	if most <= 0 {
		most = frameBytes
	}
	zw, err := zstd.NewWriter(nil, append(o, zstd.WithWindowSize(most))...)
	if err != nil {
		return nil, fmt.Errorf("start zstd: %w", err)
	}
	return &frameWriter{out: countingWriter{w: w}, zw: zw, most: int64(most)}, nil
}

// at is how much was written.
func (f *frameWriter) at() int64 { return f.end.plain + f.held }

// Write implements io.Writer.
func (f *frameWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if f.held == f.most {
			if err := f.cut(); err != nil {
				return n, err
			}
		}
		if !f.open {
			f.zw.Reset(&f.out)
			f.open = true
		}
		wrote, err := f.zw.Write(p[:min(int64(len(p)), f.most-f.held)])
		f.held += int64(wrote)
		p, n = p[wrote:], n+wrote
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// fit ends the present frame when what comes next would not fit into it and
// fits into one of its own, so that few files lie in two. A frame that is not
// half full goes on.
func (f *frameWriter) fit(next int64) error {
	if f.held >= f.most/2 && next <= f.most && f.held+next > f.most {
		return f.cut()
	}
	return nil
}

// cut ends the present frame, if there is one.
func (f *frameWriter) cut() error {
	if !f.open {
		return nil
	}
	f.open = false
	if err := f.zw.Close(); err != nil {
		return err
	}
	one := frame{f.out.n - f.end.packed, f.held}
	f.frames, f.held = append(f.frames, one), 0
	f.end = frame{f.end.packed + one.packed, f.end.plain + one.plain}
	return nil
}
