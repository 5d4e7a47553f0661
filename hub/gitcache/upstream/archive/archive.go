// Package archive unpacks untrusted tar archives: charts and layers of
// artifacts. It writes only what a tarball of the product may hold; for
// anything else in the archive it returns an error with the entry's name.
//
// It reads plain, gzip and zstd tar, and detects which by the first bytes. It
// makes no requests and computes no digest; callers put the folder into a
// tarball of their own.
//
// Invariants: nothing is created outside the folder, nor through a link; only
// files, folders and links that stay inside are created; reading stops before
// the output exceeds the limits, however the archive was compressed.
package archive

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/tarball"
)

// Options configures Unpack. The zero value extracts every entry unchanged.
type Options struct {
	// Strip removes the first folder of each path; entries beside that folder
	// are refused.
	Strip bool
	// Over allows entries to replace files of earlier archives in the folder.
	Over bool
	// Limits apply to this archive.
	Limits tarball.Limits
}

// headersPerFile limits entries that create nothing.
const headersPerFile = 4

// Unpack extracts an archive into dir, which must exist. Refused content is
// errcode.Unprocessable.
func Unpack(ctx context.Context, r io.Reader, dir string, o Options) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	plain, end, err := decompress(&reader{ctx: ctx, r: r})
	if err != nil {
		return err
	}
	defer end()
	u := &unpacker{root: root, options: o, limits: o.Limits, paths: digest.NewPathSet(), buf: make([]byte, 64<<10)}
	u.fill()
	in := tar.NewReader(plain)
	for n := 0; ; n++ {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && n > headersPerFile*u.limits.Files {
			err = &tarball.LimitError{Path: h.Name, Reason: fmt.Sprintf("more than %d entries", headersPerFile*u.limits.Files)}
		}
		if err == nil {
			err = u.entry(h, in)
		}
		if err != nil {
			return refused(ctx, err)
		}
	}
}

// refused adds a code to the error of an archive that is refused.
func refused(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var wrong *digest.PathError
	var limit *tarball.LimitError
	var coded *errcode.Error
	var file *fs.PathError
	switch {
	case errors.As(err, &coded):
		return coded
	case errors.As(err, &wrong), errors.As(err, &limit):
		return errcode.New(errcode.Unprocessable, "the archive is refused: %w", err)
	case errors.As(err, &file):
		return err
	}
	return errcode.New(errcode.Unprocessable, "the archive is damaged: %w", err)
}

func decompress(r io.Reader) (io.Reader, func(), error) {
	in := bufio.NewReader(r)
	head, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	switch {
	case len(head) >= 2 && head[0] == 0x1f && head[1] == 0x8b:
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, errcode.New(errcode.Unprocessable, "the archive is damaged: %w", err)
		}
		return z, func() { _ = z.Close() }, nil
	case len(head) == 4 && [4]byte(head) == [4]byte{0x28, 0xb5, 0x2f, 0xfd}:
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(64<<20))
		if err != nil {
			return nil, nil, errcode.New(errcode.Unprocessable, "the archive is damaged: %w", err)
		}
		return z, z.Close, nil
	case len(head) == 0:
		return nil, nil, errcode.New(errcode.Unprocessable, "the archive is empty")
	}
	return in, func() {}, nil
}

type unpacker struct {
	root    *os.Root
	options Options
	limits  tarball.Limits
	stats   tarball.Stats
	paths   *digest.PathSet
	buf     []byte
}

func (u *unpacker) fill() {
	d := tarball.DefaultLimits
	if u.limits.Bytes == 0 {
		u.limits.Bytes = d.Bytes
	}
	if u.limits.Files == 0 {
		u.limits.Files = d.Files
	}
	if u.limits.Depth == 0 {
		u.limits.Depth = d.Depth
	}
}

func (u *unpacker) entry(h *tar.Header, body io.Reader) error {
	switch h.Typeflag {
	case tar.TypeXGlobalHeader, tar.TypeDir:
		return nil
	case tar.TypeReg, tar.TypeSymlink:
	default:
		return &digest.PathError{Path: h.Name, Reason: fmt.Sprintf("is a tar entry of type %q; only files, folders and symbolic links are allowed", h.Typeflag)}
	}
	name, err := u.name(h.Name)
	if err != nil {
		return err
	}
	if err := u.count(name, h); err != nil {
		return err
	}
	if err := u.paths.Add(name); err != nil {
		return err
	}
	if dir := path.Dir(name); dir != "." {
		if err := u.root.MkdirAll(dir, 0o755); err != nil {
			return &digest.PathError{Path: name, Reason: "is below a file or a link"}
		}
	}
	if u.options.Over {
		_ = u.root.Remove(name) // a folder that is not empty stays, and the next step fails
	}
	if h.Typeflag == tar.TypeSymlink {
		if err := digest.CheckLink(name, h.Linkname); err != nil {
			return err
		}
		return u.root.Symlink(h.Linkname, name)
	}
	return u.file(name, h, body)
}

// name returns an entry's path in the folder.
func (u *unpacker) name(raw string) (string, error) {
	if path.IsAbs(raw) || strings.Contains(raw, `\`) {
		return "", &digest.PathError{Path: raw, Reason: "is absolute or holds a backslash"}
	}
	for part := range strings.SplitSeq(raw, "/") {
		if part == ".." {
			return "", &digest.PathError{Path: raw, Reason: `has a segment ".."`}
		}
	}
	name := path.Clean(raw)
	if u.options.Strip {
		_, rest, ok := strings.Cut(name, "/")
		if !ok {
			return "", &digest.PathError{Path: raw, Reason: "is outside the archive's top folder"}
		}
		name = rest
	}
	return name, nil
}

func (u *unpacker) count(name string, h *tar.Header) error {
	size := h.Size
	if h.Typeflag == tar.TypeSymlink {
		size = 0
	}
	l := u.limits
	switch {
	case u.stats.Files+1 > l.Files:
		return &tarball.LimitError{Path: name, Reason: fmt.Sprintf("more than %d files", l.Files)}
	case size < 0 || size > l.Bytes-u.stats.Bytes:
		return &tarball.LimitError{Path: name, Reason: fmt.Sprintf("more than %d bytes", l.Bytes)}
	case strings.Count(name, "/")+1 > l.Depth:
		return &tarball.LimitError{Path: name, Reason: fmt.Sprintf("folders nested deeper than %d", l.Depth)}
	}
	u.stats.Files++
	u.stats.Bytes += size
	return nil
}

func (u *unpacker) file(name string, h *tar.Header, body io.Reader) error {
	mode := fs.FileMode(0o644)
	if h.Mode&0o100 != 0 {
		mode = 0o755
	}
	// O_EXCL: an entry never writes through, or over, an earlier one.
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return &digest.PathError{Path: name, Reason: "appears twice"}
	}
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(f, body, u.buf)
	return errors.Join(err, f.Close())
}

// reader fails the next read after ctx is done.
type reader struct {
	ctx context.Context
	r   io.Reader
}

// Read reads from r while ctx lives.
func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
