package tarball

import (
	"archive/tar"
	"context"
	"errors"
	"io"

	"github.com/axle-cd/axle/internal/digest"
)

// compareIndexes is compareStreams for tarballs with an index. errNoIndex when
// one has none, or one that does not say what is in it.
func compareIndexes(ctx context.Context, a, b io.Reader) (*difference, error) {
	from, err := openStored(a)
	if err != nil {
		return nil, err
	}
	defer from.close()
	to, err := openStored(b)
	if err != nil {
		return nil, err
	}
	defer to.close()
	c := &indexComparer{ctx: ctx, a: from, b: to}
	if err := c.compare(); err != nil {
		return nil, err
	}
	return &c.difference, nil
}

func openStored(r io.Reader) (*contents, error) {
	s, ok := r.(Stored)
	if !ok {
		return nil, errNoIndex
	}
	return openIndex(s.ReaderAt, s.Size)
}

// indexComparer walks two indexes side by side; both are sorted by path.
type indexComparer struct {
	difference
	ctx  context.Context
	a, b *contents
}

func (c *indexComparer) compare() error {
	a, b := c.a.entries, c.b.entries
	for len(a) > 0 || len(b) > 0 {
		var err error
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].path < b[0].path:
			c.removes = append(c.removes, a[0].path)
			if a[0].file() {
				c.went(a[0].path, a[0].sum)
			}
			a = a[1:]
		case len(a) == 0 || b[0].path < a[0].path:
			err = c.add(b[0], indexed{}, true)
			b = b[1:]
		default:
			err = c.both(a[0], b[0])
			a, b = a[1:], b[1:]
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// both looks at one name that both have.
func (c *indexComparer) both(a, b indexed) error {
	switch {
	case !a.file() || !b.file():
		if a.file() == b.file() && a.target == b.target {
			return nil
		}
		return c.add(b, indexed{}, false)
	case a.size == b.size && a.sum == b.sum:
		if a.kind != b.kind {
			c.copies = append(c.copies, copyOf{kind: b.kind, from: a.path, to: b.path})
		}
		return nil
	}
	return c.add(b, a, false)
}

// add takes an entry of b, against the bytes of base when that is a file that
// is not too large to be one.
func (c *indexComparer) add(b, base indexed, only bool) (err error) {
	f := changedFile{h: b.header(), only: only}
	if b.file() {
		if err := errors.Join(c.ctx.Err(), c.room(b.size)); err != nil {
			return err
		}
		if f.body, err = c.b.read(b); err != nil {
			return err
		}
	}
	if base.path != "" && base.size > 0 && (base.size <= maxBase || base.size == b.size) {
		if f.base, err = c.a.read(base); err != nil {
			return err
		}
	}
	c.changed = append(c.changed, f)
	return nil
}

// header is that of the entry in its tarball.
func (e indexed) header() *tar.Header {
	h := &tar.Header{Name: e.path, Typeflag: tar.TypeReg, Mode: 0o644, Size: e.size}
	switch e.kind {
	case digest.Executable:
		h.Mode = 0o755
	case digest.Link:
		h.Typeflag, h.Mode, h.Linkname = tar.TypeSymlink, 0o777, e.target
	}
	return h
}
