package tarball

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/klauspost/compress/zstd"

	"github.com/axle-cd/axle/internal/digest"
)

// ApplyDelta makes, in the folder dir, what the delta in r makes of the
// unpacked content in have, which it only reads. Like Unpack it returns the
// digest of what it wrote, which the caller compares, and removes dir on any
// error. A *DeltaError, *digest.PathError or *LimitError says that this delta
// will never do; the whole tarball may.
func ApplyDelta(ctx context.Context, r io.Reader, have, dir string, d Delta, limits Limits) (digest.Digest, Stats, error) {
	if err := emptyDir(dir); err != nil {
		return "", Stats{}, err
	}
	got, stats, err := applyDelta(&contextReader{ctx: ctx, r: r}, have, dir, d, limits)
	if err != nil {
		return "", stats, errors.Join(err, os.RemoveAll(dir))
	}
	return got, stats, nil
}

func applyDelta(in *contextReader, have, dir string, d Delta, limits Limits) (digest.Digest, Stats, error) {
	m, err := readManifest(in)
	if err != nil {
		return "", Stats{}, err
	}
	if m.from != d.From || m.to != d.To {
		return "", Stats{}, badDelta("it leads from %s to %s, wanted is from %s to %s", m.from.Short(), m.to.Short(), d.From.Short(), d.To.Short())
	}
	old, err := os.OpenRoot(have)
	if err != nil {
		return "", Stats{}, err
	}
	defer old.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", Stats{}, err
	}
	defer root.Close()
	p := &patcher{old: old, written: map[string]bool{},
		to: &treeReader{root: root, sums: digest.New(), limits: limits, buf: make([]byte, 64<<10)}}
	if err := p.entries(in, m.bases); err != nil {
		return "", p.to.stats, err
	}
	if err := p.copies(m.copies); err != nil {
		return "", p.to.stats, err
	}
	if err := p.keep(in.ctx, m.removes); err != nil {
		return "", p.to.stats, err
	}
	return p.to.sums.Digest(), p.to.stats, nil
}

// patcher writes new content out of old content and a delta.
type patcher struct {
	old *os.Root
	to  *treeReader
	// written are the paths that are done.
	written map[string]bool
}

// entries writes what the delta carries.
func (p *patcher) entries(in io.Reader, bases []string) error {
	o := []zstd.DOption{zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(2 * window)}
	base, err := p.base(bases)
	if err != nil {
		return err
	}
	if len(base) > 0 {
		o = append(o, zstd.WithDecoderDictRaw(baseID, base))
	}
	zr, err := zstd.NewReader(in, o...)
	if err != nil {
		return fmt.Errorf("start zstd: %w", err)
	}
	defer zr.Close()
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return drain(zr)
		}
		if err != nil {
			return fmt.Errorf("read delta: %w", err)
		}
		if err := p.to.entry(h, tr); err != nil {
			return err
		}
		p.written[h.Name] = true
	}
}

// drain reads to the end of the frame, whose checksum comes last. A tar is
// padded with little; whoever sends more is not believed.
func drain(zr io.Reader) error {
	n, err := io.Copy(io.Discard, io.LimitReader(zr, 1<<20))
	if err != nil {
		return fmt.Errorf("read delta: %w", err)
	}
	if n == 1<<20 {
		return badDelta("it goes on after its end")
	}
	return nil
}

// base reads the old files against which the new ones are compressed.
func (p *patcher) base(paths []string) ([]byte, error) {
	var base bytes.Buffer
	for _, path := range paths {
		err := p.open(path, func(info fs.FileInfo, f io.Reader) error {
			if int64(base.Len())+info.Size() > maxBase {
				return badDelta("it builds on more than %d bytes of old files", maxBase)
			}
			_, err := io.Copy(&base, io.LimitReader(f, info.Size()))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return base.Bytes(), nil
}

// open hands an old file to use. Links are never followed: what a delta names
// must be a file of the old content itself.
func (p *patcher) open(path string, use func(fs.FileInfo, io.Reader) error) error {
	info, err := p.old.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return badDelta("it needs the old file %.200q, which is not there", path)
	}
	if err != nil {
		return err
	}
	f, err := p.old.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return use(info, f)
}

func (p *patcher) copies(all []copyOf) error {
	for _, c := range all {
		err := p.open(c.from, func(info fs.FileInfo, f io.Reader) error {
			return p.to.entry(header(Entry{Path: c.to, Type: c.kind, Size: info.Size()}), io.LimitReader(f, info.Size()))
		})
		if err != nil {
			return err
		}
		p.written[c.to] = true
	}
	return nil
}

// keep writes all of the old content that is neither removed nor written.
func (p *patcher) keep(ctx context.Context, removes []string) error {
	gone := make(map[string]bool, len(removes))
	for _, path := range removes {
		gone[path] = true
	}
	paths, err := list(p.old)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		if gone[path] {
			delete(gone, path)
			continue
		}
		if p.written[path] {
			continue
		}
		var failed error
		one(p.old, path, func(e Entry, err error) bool {
			if failed = err; err == nil {
				failed = p.to.entry(header(e), e.Body)
			}
			return true
		})
		if failed != nil {
			return failed
		}
	}
	for path := range gone {
		return badDelta("it removes %.200q, which the old content does not have", path)
	}
	return nil
}

// header is an entry as Write would name it in a tar.
func header(e Entry) *tar.Header {
	h := &tar.Header{Name: e.Path, Typeflag: tar.TypeReg, Mode: 0o644, Size: e.Size}
	switch e.Type {
	case digest.Executable:
		h.Mode = 0o755
	case digest.Link:
		h.Typeflag, h.Size, h.Linkname = tar.TypeSymlink, 0, e.Target
	}
	return h
}
