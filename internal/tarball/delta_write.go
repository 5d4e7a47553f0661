package tarball

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/axle-cd/axle/internal/digest"
)

// Delta says between which contents a delta leads.
type Delta struct{ From, To digest.Digest }

// Stored is a tarball that can be read anywhere, as one on a disk.
type Stored struct {
	io.Reader
	io.ReaderAt
	Size int64
}

// WriteDelta writes what somebody who has the content of the tarball a needs
// to make that of b: new files, changed files compressed against their old
// bytes, and the names of those that went, moved or changed mode. It returns
// ErrNoDelta when that would be too much. Equal input gives equal bytes. Of two
// that are Stored and have an index, only the files that differ are unpacked.
func WriteDelta(ctx context.Context, w io.Writer, a, b io.Reader, d Delta) error {
	c, err := compareIndexes(ctx, a, b)
	if errors.Is(err, errNoIndex) {
		c, err = compareStreams(ctx, a, b)
	}
	if err != nil {
		return err
	}
	m := &manifest{from: d.From, to: d.To}
	entries, base, err := c.finish(m)
	if err != nil {
		return err
	}
	text := m.encode()
	if len(text) > maxManifest {
		return ErrNoDelta
	}
	return writeFrames(w, text, entries, base)
}

// compareStreams unpacks both and looks at every byte.
func compareStreams(ctx context.Context, a, b io.Reader) (*difference, error) {
	from, err := openStream(ctx, a)
	if err != nil {
		return nil, err
	}
	defer from.close()
	to, err := openStream(ctx, b)
	if err != nil {
		return nil, err
	}
	defer to.close()
	c := &comparer{a: from, b: to}
	return &c.difference, c.compare()
}

// stream walks the entries of one tarball.
type stream struct {
	zr  *zstd.Decoder
	tar *tar.Reader
	h   *tar.Header // nil at the end
}

func openStream(ctx context.Context, r io.Reader) (*stream, error) {
	zr, err := zstd.NewReader(&contextReader{ctx: ctx, r: r}, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(2*window))
	if err != nil {
		return nil, fmt.Errorf("start zstd: %w", err)
	}
	s := &stream{zr: zr, tar: tar.NewReader(zr)}
	if err := s.next(); err != nil {
		zr.Close()
		return nil, err
	}
	return s, nil
}

func (s *stream) close() { s.zr.Close() }

func (s *stream) next() (err error) {
	if s.h, err = s.tar.Next(); errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read tarball: %w", err)
	}
	return nil
}

func (s *stream) file() bool { return s.h.Typeflag == tar.TypeReg }

// read takes the present file into memory, into buf when it fits.
func (s *stream) read(buf []byte) ([]byte, error) {
	if int64(cap(buf)) < s.h.Size {
		buf = make([]byte, s.h.Size)
	}
	buf = buf[:s.h.Size]
	if _, err := io.ReadFull(s.tar, buf); err != nil {
		return nil, fmt.Errorf("read tarball: %w", err)
	}
	return buf, nil
}

// comparer walks two tarballs side by side; both are sorted by path, so what
// has one name meets.
type comparer struct {
	difference
	a, b               *stream
	scratchA, scratchB []byte
}

// difference is what leads from a to b.
type difference struct {
	// held is how many bytes of b are kept.
	held    int64
	changed []changedFile
	copies  []copyOf
	removes []string
	// gone are the files that only a has, by content: where moved ones were.
	gone map[shortSum]string
}

// went notes a file that only a has.
func (d *difference) went(name string, sum shortSum) {
	if d.gone == nil {
		d.gone = map[shortSum]string{}
	}
	if _, ok := d.gone[sum]; !ok {
		d.gone[sum] = name
	}
}

// room takes the bytes of a file of b into account.
func (d *difference) room(size int64) error {
	if d.held += size; d.held > maxDelta {
		return ErrNoDelta
	}
	return nil
}

// changedFile is an entry of b that a does not have so.
type changedFile struct {
	h    *tar.Header
	body []byte
	base []byte // what a has under the same name
	only bool   // a has nothing under that name
}

func (c *comparer) compare() error {
	for c.a.h != nil || c.b.h != nil {
		var err error
		switch {
		case c.b.h == nil || c.a.h != nil && c.a.h.Name < c.b.h.Name:
			err = errors.Join(c.onlyA(), c.a.next())
		case c.a.h == nil || c.b.h.Name < c.a.h.Name:
			err = c.onlyB()
			if err == nil {
				err = c.b.next()
			}
		default:
			if err = c.both(); err == nil {
				err = errors.Join(c.a.next(), c.b.next())
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *comparer) onlyA() error {
	c.removes = append(c.removes, c.a.h.Name)
	if !c.a.file() {
		return nil
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, c.a.tar); err != nil {
		return fmt.Errorf("read tarball: %w", err)
	}
	c.went(c.a.h.Name, short(digest.Sum(hash.Sum(nil))))
	return nil
}

func (c *comparer) onlyB() error {
	f := changedFile{h: c.b.h, only: true}
	if c.b.file() {
		var err error
		if f.body, err = c.hold(); err != nil {
			return err
		}
	}
	c.changed = append(c.changed, f)
	return nil
}

// hold reads a file of b into memory, as long as there is room.
func (c *comparer) hold() ([]byte, error) {
	if err := c.room(c.b.h.Size); err != nil {
		return nil, err
	}
	return c.b.read(nil)
}

// both looks at one name that both have.
func (c *comparer) both() error {
	a, b := c.a.h, c.b.h
	switch {
	case !c.a.file() || !c.b.file():
		if a.Typeflag == b.Typeflag && a.Linkname == b.Linkname {
			return nil
		}
		f := changedFile{h: b}
		var err error
		if c.b.file() {
			f.body, err = c.hold()
		}
		c.changed = append(c.changed, f)
		return err
	case a.Size != b.Size:
		return c.differ(nil)
	case a.Size > maxDelta:
		return c.large()
	}
	var err error
	if c.scratchA, err = c.a.read(c.scratchA); err != nil {
		return err
	}
	if c.scratchB, err = c.b.read(c.scratchB); err != nil {
		return err
	}
	if bytes.Equal(c.scratchA, c.scratchB) {
		c.sameBytes()
		return nil
	}
	if err := c.room(b.Size); err != nil {
		return err
	}
	c.changed = append(c.changed, changedFile{h: b, body: slices.Clone(c.scratchB), base: slices.Clone(c.scratchA)})
	return nil
}

func (c *comparer) sameBytes() {
	if kind := kindOf(c.b.h); kind != kindOf(c.a.h) {
		c.copies = append(c.copies, copyOf{kind: kind, from: c.a.h.Name, to: c.b.h.Name})
	}
}

func kindOf(h *tar.Header) digest.Type {
	if h.Mode&0o100 != 0 {
		return digest.Executable
	}
	return digest.File
}

func (c *comparer) differ(base []byte) error {
	body, err := c.hold()
	if err != nil {
		return err
	}
	if base == nil && c.a.h.Size <= maxBase {
		if base, err = c.a.read(nil); err != nil {
			return err
		}
	}
	c.changed = append(c.changed, changedFile{h: c.b.h, body: body, base: base})
	return nil
}

// large compares two files that are too large for memory; when they differ
// there is no delta.
func (c *comparer) large() error {
	x, y := make([]byte, 256<<10), make([]byte, 256<<10)
	for {
		n, errA := io.ReadFull(c.a.tar, x)
		m, errB := io.ReadFull(c.b.tar, y)
		if !bytes.Equal(x[:n], y[:m]) {
			return ErrNoDelta
		}
		if end := errors.Is(errA, io.EOF) || errors.Is(errA, io.ErrUnexpectedEOF); end {
			c.sameBytes()
			return nil
		}
		if err := errors.Join(errA, errB); err != nil {
			return fmt.Errorf("read tarball: %w", err)
		}
	}
}

// finish makes the manifest, the tar of changed entries and their dictionary.
func (d *difference) finish(m *manifest) (entries, base []byte, err error) {
	var out bytes.Buffer
	tw := tar.NewWriter(&out)
	for _, f := range d.changed {
		if f.only && f.h.Typeflag == tar.TypeReg {
			if from, ok := d.gone[short(digest.SumOf(f.body))]; ok {
				d.copies = append(d.copies, copyOf{kind: kindOf(f.h), from: from, to: f.h.Name})
				continue
			}
		}
		if len(f.base) > 0 && len(base)+len(f.base) <= maxBase {
			m.bases, base = append(m.bases, f.h.Name), append(base, f.base...)
		}
		h := &tar.Header{Name: f.h.Name, Typeflag: f.h.Typeflag, Mode: f.h.Mode, Size: f.h.Size, Linkname: f.h.Linkname, ModTime: time.Unix(0, 0)}
		if err := tw.WriteHeader(h); err != nil {
			return nil, nil, fmt.Errorf("write delta: %w", err)
		}
		if _, err := tw.Write(f.body); err != nil {
			return nil, nil, fmt.Errorf("write delta: %w", err)
		}
	}
	if err := tw.Close(); err != nil {
		return nil, nil, fmt.Errorf("write delta: %w", err)
	}
	slices.SortFunc(d.copies, func(x, y copyOf) int { return strings.Compare(x.to, y.to) })
	m.removes, m.copies = d.removes, d.copies
	return out.Bytes(), base, nil
}
