package tarball

import (
	"archive/tar"
	"crypto/sha256"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/axle-cd/axle/internal/digest"
)

// window bounds how far zstd looks back, and with it the memory that an agent
// needs to unpack.
const window = 4 << 20

// Entry is one file or link to be written.
type Entry struct {
	Path   string
	Type   digest.Type
	Size   int64  // of a file, in bytes
	Target string // of a link

	// Body yields exactly Size bytes of a file. Write reads it before it asks
	// for the next entry; it is not closed.
	Body io.Reader
}

// Level says how hard to compress.
type Level int

// The levels, from quick to small. The zero value is Default.
const (
	Default Level = iota
	Fastest
	Better
)

// Options of Write. The zero value is good.
type Options struct {
	Level  Level
	Limits Limits
	// Concurrency is how many frames are compressed at once; 0 is one a core, at
	// most maxPackers.
	Concurrency int

	frame int // bytes of a frame; 0 is frameBytes
}

// Write writes the entries, which must come sorted by path, and returns the
// digest of what they hold. An error of the sequence ends the writing.
func Write(w io.Writer, entries iter.Seq2[Entry, error], o Options) (digest.Digest, Stats, error) {
	frames := newFrameWriter(w, o.frame, o.Concurrency, zstd.WithEncoderLevel(o.Level.zstd()))
	defer frames.close()
	tw := &treeWriter{tar: tar.NewWriter(frames), frames: frames, sums: digest.New(), limits: o.Limits, buf: make([]byte, 256<<10)}
	for e, err := range entries {
		if err != nil {
			return "", tw.stats, err
		}
		if err := tw.add(e); err != nil {
			return "", tw.stats, err
		}
	}
	if err := tw.tar.Close(); err != nil {
		return "", tw.stats, fmt.Errorf("end tar: %w", err)
	}
	if err := frames.finish(); err != nil {
		return "", tw.stats, fmt.Errorf("write the last frames: %w", err)
	}
	if err := tw.index.append(w, frames.frames); err != nil {
		return "", tw.stats, fmt.Errorf("write index: %w", err)
	}
	return tw.sums.Digest(), tw.stats, nil
}

func (l Level) zstd() zstd.EncoderLevel {
	switch l {
	case Fastest:
		return zstd.SpeedFastest
	case Better:
		return zstd.SpeedBetterCompression
	}
	return zstd.SpeedDefault
}

type treeWriter struct {
	tar    *tar.Writer
	frames *frameWriter
	index  index
	sums   *digest.Builder
	limits Limits
	stats  Stats
	last   string
	buf    []byte
}

func (t *treeWriter) add(e Entry) error {
	if t.stats.Files > 0 && e.Path <= t.last {
		return fmt.Errorf("entry %q comes after %q: entries must be sorted and different", e.Path, t.last)
	}
	t.last = e.Path
	h := &tar.Header{Name: e.Path, Typeflag: tar.TypeReg, Mode: 0o644, Size: e.Size, ModTime: time.Unix(0, 0)}
	switch e.Type {
	case digest.Executable:
		h.Mode = 0o755
	case digest.Link:
		if err := digest.CheckLink(e.Path, e.Target); err != nil {
			return err
		}
		h.Typeflag, h.Mode, h.Size, h.Linkname = tar.TypeSymlink, 0o777, 0, e.Target
	}
	if err := t.limits.take(&t.stats, e.Path, h.Size); err != nil {
		return err
	}
	if err := t.sums.Claim(e.Path); err != nil {
		return err
	}
	// The padding of the entry before is written first.
	if err := t.tar.Flush(); err != nil {
		return fmt.Errorf("write %q: %w", e.Path, err)
	}
	if err := t.frames.fit(tarBlock + h.Size); err != nil {
		return fmt.Errorf("write %q: %w", e.Path, err)
	}
	if err := t.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("write %q: %w", e.Path, err)
	}
	if e.Type == digest.Link {
		t.index.entries = append(t.index.entries, indexed{path: e.Path, kind: e.Type, target: e.Target})
		return t.sums.AddClaimed(e.Path, e.Type, digest.SumOf([]byte(e.Target)))
	}
	at := t.frames.at()
	sum, err := t.body(e)
	if err != nil {
		return fmt.Errorf("write %q: %w", e.Path, err)
	}
	t.index.entries = append(t.index.entries, indexed{path: e.Path, kind: e.Type, size: e.Size, at: at, sum: short(sum)})
	return t.sums.AddClaimed(e.Path, e.Type, sum)
}

func (t *treeWriter) body(e Entry) (digest.Sum, error) {
	hash := sha256.New()
	n, err := io.CopyBuffer(io.MultiWriter(t.tar, hash), io.LimitReader(e.Body, e.Size), t.buf)
	if err != nil {
		return digest.Sum{}, err
	}
	if n != e.Size {
		return digest.Sum{}, fmt.Errorf("body has %d bytes, want %d: %w", n, e.Size, io.ErrUnexpectedEOF)
	}
	return digest.Sum(hash.Sum(nil)), nil
}
