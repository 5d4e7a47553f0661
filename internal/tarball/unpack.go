package tarball

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/klauspost/compress/zstd"

	"github.com/axle-cd/axle/internal/digest"
)

// Unpack reads a tarball from r into dir, which must not exist or be empty,
// and returns the digest of what it wrote. On any error it removes dir. It is
// not atomic: unpack beside the place where the content should be, compare the
// digest, then rename.
//
// What the content is refused for comes back as a *digest.PathError or a
// *LimitError.
func Unpack(ctx context.Context, r io.Reader, dir string, limits Limits) (digest.Digest, Stats, error) {
	if err := emptyDir(dir); err != nil {
		return "", Stats{}, err
	}
	d, stats, err := unpack(ctx, r, dir, limits)
	if err != nil {
		return "", stats, errors.Join(err, os.RemoveAll(dir))
	}
	return d, stats, nil
}

func emptyDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder to unpack into: %w", err)
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if names, err := f.Readdirnames(1); len(names) > 0 {
		return fmt.Errorf("unpack into %s: the folder is not empty", dir)
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

func unpack(ctx context.Context, r io.Reader, dir string, limits Limits) (digest.Digest, Stats, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", Stats{}, err
	}
	defer root.Close()
	// One goroutine and a bounded window: an agent unpacks inside a few MiB.
	in := &contextReader{ctx: ctx, r: r}
	zr, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(2*window))
	if err != nil {
		return "", Stats{}, fmt.Errorf("start zstd: %w", err)
	}
	defer zr.Close()
	t := &treeReader{root: root, sums: digest.New(), limits: limits, buf: make([]byte, 64<<10)}
	tr := tar.NewReader(zr)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) && in.n > 0 {
			return t.sums.Digest(), t.stats, nil
		}
		if err != nil {
			return "", t.stats, fmt.Errorf("read tarball: %w", err)
		}
		if err := t.entry(h, tr); err != nil {
			return "", t.stats, err
		}
	}
}

type treeReader struct {
	root   *os.Root
	sums   *digest.Builder
	limits Limits
	stats  Stats
	parent string // the folder made last
	buf    []byte
}

func (t *treeReader) entry(h *tar.Header, body io.Reader) error {
	if err := t.limits.take(&t.stats, h.Name, h.Size); err != nil {
		return err
	}
	if err := t.sums.Claim(h.Name); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeReg:
		kind := digest.File
		if h.Mode&0o100 != 0 {
			kind = digest.Executable
		}
		return t.file(h, kind, body)
	case tar.TypeSymlink:
		if err := digest.CheckLink(h.Name, h.Linkname); err != nil {
			return err
		}
		if err := t.sums.AddClaimed(h.Name, digest.Link, digest.SumOf([]byte(h.Linkname))); err != nil {
			return err
		}
		if err := t.folder(h.Name); err != nil {
			return err
		}
		return t.root.Symlink(h.Linkname, h.Name)
	}
	return &digest.PathError{Path: h.Name, Reason: fmt.Sprintf("is a tar entry of type %q; only files and symbolic links are allowed", h.Typeflag)}
}

func (t *treeReader) file(h *tar.Header, kind digest.Type, body io.Reader) error {
	if err := t.folder(h.Name); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if kind == digest.Executable {
		mode = 0o755
	}
	// Exclusive: an entry never writes through, or over, an earlier one.
	f, err := t.root.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return &digest.PathError{Path: h.Name, Reason: "appears twice"}
	}
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	hash := sha256.New()
	_, err = io.CopyBuffer(io.MultiWriter(f, hash), body, t.buf)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("unpack %q: %w", h.Name, err)
	}
	return t.sums.AddClaimed(h.Name, kind, digest.Sum(hash.Sum(nil)))
}

// folder makes the folders above name. Claim has already refused an entry
// beneath a link; the jail stands behind it.
func (t *treeReader) folder(name string) error {
	dir := path.Dir(name)
	if dir == "." || dir == t.parent {
		return nil
	}
	if err := t.root.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	t.parent = dir
	return nil
}

// contextReader ends a read at the next call after ctx is done.
type contextReader struct {
	ctx context.Context
	r   io.Reader
	n   int64 // bytes read
}

// Read reads from r while ctx lives.
func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
