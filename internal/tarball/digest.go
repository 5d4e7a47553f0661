package tarball

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/axle-cd/axle/internal/digest"
)

// Digest reads a tarball to its end and returns the digest of what Unpack
// would write, writing nothing.
func Digest(ctx context.Context, r io.Reader, limits Limits) (digest.Digest, error) {
	in := &contextReader{ctx: ctx, r: r}
	zr, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(2*window))
	if err != nil {
		return "", fmt.Errorf("start zstd: %w", err)
	}
	defer zr.Close()
	var stats Stats
	sums, tr := digest.New(), tar.NewReader(zr)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) && in.n > 0 {
			break
		}
		if err != nil {
			return "", fmt.Errorf("read tarball: %w", err)
		}
		if err := limits.take(&stats, h.Name, h.Size); err != nil {
			return "", err
		}
		if err := addEntry(sums, h, tr); err != nil {
			return "", err
		}
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return "", err
	}
	return sums.Digest(), nil
}

func addEntry(sums *digest.Builder, h *tar.Header, body io.Reader) error {
	switch h.Typeflag {
	case tar.TypeReg:
		hash := sha256.New()
		if _, err := io.Copy(hash, body); err != nil {
			return fmt.Errorf("read %q: %w", h.Name, err)
		}
		return sums.Add(h.Name, kindOf(h), digest.Sum(hash.Sum(nil)))
	case tar.TypeSymlink:
		if err := digest.CheckLink(h.Name, h.Linkname); err != nil {
			return err
		}
		return sums.Add(h.Name, digest.Link, digest.SumOf([]byte(h.Linkname)))
	}
	return &digest.PathError{Path: h.Name, Reason: fmt.Sprintf("is a tar entry of type %q; only files and symbolic links are allowed", h.Typeflag)}
}
