// Package archive unpacks untrusted tar archives: charts, as Helm reads them,
// and layers of artifacts, as container runtimes and Flux do. It writes only
// what a tarball of the product may hold; for anything else in the archive it
// returns an error with the entry's name.
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
	"regexp"
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
	// Over allows entries to replace what earlier archives left in the folder.
	Over bool
	// Whiteouts removes, for an entry ".wh.NAME", NAME of earlier archives, and
	// for ".wh..wh..opq" all that they left in its folder, as in images. Only
	// with Over.
	Whiteouts bool
	// Before is what earlier archives unpacked into the folder.
	Before tarball.Stats
	// Limits apply to this archive and to those before it together.
	Limits tarball.Limits
}

// headersPerFile limits entries that create nothing.
const headersPerFile = 4

// Unpack extracts an archive into dir, which must exist, and returns what is
// unpacked there now. Refused content is errcode.Unprocessable.
func Unpack(ctx context.Context, r io.Reader, dir string, o Options) (tarball.Stats, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return o.Before, err
	}
	defer root.Close()
	plain, end, err := decompress(&reader{ctx: ctx, r: r})
	if err != nil {
		return o.Before, err
	}
	defer end()
	u := &unpacker{root: root, options: o, limits: o.Limits, stats: o.Before, paths: digest.NewPathSet(), laid: map[string]bool{}, buf: make([]byte, 64<<10)}
	u.fill()
	err = refused(ctx, u.all(tar.NewReader(plain)))
	return u.stats, err
}

// all unpacks every entry.
func (u *unpacker) all(in *tar.Reader) error {
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
			return err
		}
	}
}

// refused adds a code to the error of an archive that is refused.
func refused(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
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
	// laid are the paths of this archive: true for folders.
	laid map[string]bool
	buf  []byte
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
	case tar.TypeXGlobalHeader:
		return nil
	case tar.TypeDir:
		return u.folder(h.Name)
	case tar.TypeReg, tar.TypeSymlink:
	default:
		return &digest.PathError{Path: h.Name, Reason: fmt.Sprintf("is a tar entry of type %q; only files, folders and symbolic links are allowed", h.Typeflag)}
	}
	name, err := u.name(h.Name)
	if err != nil {
		return err
	}
	if base := path.Base(name); u.options.Whiteouts && strings.HasPrefix(base, whiteout) {
		return u.whiteout(name, base[len(whiteout):])
	}
	if err := u.count(name, h); err != nil {
		return err
	}
	if err := u.paths.Add(name); err != nil {
		return err
	}
	if u.options.Over {
		if err := CheckFolders(u.root, name, u.laid); err != nil {
			return err
		}
	}
	if dir := path.Dir(name); dir != "." {
		if err := u.root.MkdirAll(dir, 0o755); err != nil {
			return &digest.PathError{Path: name, Reason: "is below a file or a link"}
		}
	}
	if u.options.Over {
		if err := u.root.RemoveAll(name); err != nil {
			return err
		}
		u.laid[name] = false
		for dir := path.Dir(name); dir != "." && !u.laid[dir]; dir = path.Dir(dir) {
			u.laid[dir] = true
		}
	}
	if h.Typeflag == tar.TypeSymlink {
		if err := digest.CheckLink(name, h.Linkname); err != nil {
			return err
		}
		return u.root.Symlink(h.Linkname, name)
	}
	return u.file(name, h, body)
}

// CheckFolders returns a *digest.PathError for a path below a file or a link of an earlier
// archive: it would be made elsewhere, and a link be checked at a depth that it does not
// have. Folders in laid are known.
func CheckFolders(root *os.Root, name string, laid map[string]bool) error {
	for dir := path.Dir(name); dir != "." && !laid[dir]; dir = path.Dir(dir) {
		if info, err := root.Lstat(dir); err == nil && !info.IsDir() {
			return &digest.PathError{Path: name, Reason: "is below a file or a link"}
		}
	}
	return nil
}

// name returns an entry's path in the folder.
func (u *unpacker) name(raw string) (string, error) {
	if u.options.Strip {
		return below(raw)
	}
	if path.IsAbs(raw) || strings.Contains(raw, `\`) {
		return "", &digest.PathError{Path: raw, Reason: "is absolute or holds a backslash"}
	}
	for part := range strings.SplitSeq(raw, "/") {
		if part == ".." {
			return "", &digest.PathError{Path: raw, Reason: `has a segment ".."`}
		}
	}
	return path.Clean(raw), nil
}

// drive matches paths of Windows.
var drive = regexp.MustCompile(`^[a-zA-Z]:/`)

// below returns a path below the archive's top folder as Helm reads it: that
// folder is what stands before the first separator, be it ".", and archives
// from Windows have backslashes.
func below(raw string) (string, error) {
	separator := "/"
	if strings.Contains(raw, `\`) {
		separator = `\`
	}
	_, rest, ok := strings.Cut(raw, separator)
	name := path.Clean(strings.ReplaceAll(rest, separator, "/"))
	switch {
	case !ok, name == ".", name == "..", strings.HasPrefix(name, "../"):
		return "", &digest.PathError{Path: raw, Reason: "is outside the archive's top folder"}
	case path.IsAbs(raw), path.IsAbs(name), drive.MatchString(name):
		return "", &digest.PathError{Path: raw, Reason: "is absolute"}
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
