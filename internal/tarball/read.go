package tarball

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/klauspost/compress/zstd"

	"github.com/axle-cd/axle/internal/digest"
)

// Read yields the entries of a tarball as they stand in it, to be written into
// another: only what their kinds and the limits say is checked here, the rest
// by who writes them. The body of an entry is gone when the next is asked for.
func Read(ctx context.Context, r io.Reader, limits Limits) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		zr, err := zstd.NewReader(&contextReader{ctx: ctx, r: r}, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(2*window))
		if err != nil {
			yield(Entry{}, fmt.Errorf("start zstd: %w", err))
			return
		}
		defer zr.Close()
		var stats Stats
		tr := tar.NewReader(zr)
		for {
			h, err := tr.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Entry{}, fmt.Errorf("read tarball: %w", err))
				return
			}
			e, err := entryOf(h, tr)
			if err == nil {
				err = limits.take(&stats, e.Path, e.Size)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func entryOf(h *tar.Header, body io.Reader) (Entry, error) {
	e := Entry{Path: h.Name, Type: digest.File, Size: h.Size, Body: body}
	switch {
	case h.Typeflag == tar.TypeSymlink:
		return Entry{Path: h.Name, Type: digest.Link, Target: h.Linkname}, nil
	case h.Typeflag != tar.TypeReg:
		return Entry{}, &digest.PathError{Path: h.Name, Reason: fmt.Sprintf("is a tar entry of type %q; only files and symbolic links are allowed", h.Typeflag)}
	case h.Mode&0o100 != 0:
		e.Type = digest.Executable
	}
	return e, nil
}
