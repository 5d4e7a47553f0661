package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/axle-cd/axle/hub/gitcache/references"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/tarball"
)

// lfsPath returns the path of an LFS object. It is in the mirror's folder, so
// that it is removed with the mirror and does not depend on upstream.
func lfsPath(m *Mirror, oid string) string {
	return filepath.Join(m.Dir(), "lfs", "objects", oid[:2], oid[2:4], oid)
}

// MissingLFS returns the objects behind a content's pointers that the mirror
// does not have. When existing and missing objects together have more than
// limit bytes, it returns errcode.Unprocessable before anything is fetched;
// zero is the default.
func (r *Reader) MissingLFS(ctx context.Context, c *Content, limit int64) ([]references.Pointer, error) {
	files, err := r.files(ctx, c)
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f file) bool { return !f.lfs })
	ids := make([]string, len(files))
	for i, f := range files {
		ids[i] = f.id
	}
	if limit <= 0 {
		limit = tarball.DefaultLimits.Bytes
	}
	var missing []references.Pointer
	seen := map[string]bool{}
	var total int64
	err = r.mirror.Blobs(ctx, ids, func(i int, size int64, body io.Reader) error {
		raw, err := io.ReadAll(io.LimitReader(body, references.MaxPointer+1))
		if err == nil {
			_, err = io.Copy(io.Discard, body)
		}
		p, ok := references.ParsePointer(raw)
		if err != nil || !ok || seen[p.OID] {
			return err
		}
		if p.Extension != "" {
			return errcode.New(errcode.Unprocessable, "%q was stored by the LFS extension %.50q, which is a program of its authors and does not run here; store it without, or exclude it by lfs.fetchexclude in .lfsconfig", files[i].path, p.Extension)
		}
		seen[p.OID] = true
		if p.Size > limit-total {
			return errcode.New(errcode.Unprocessable, "the LFS files, up to %q, have more than the limit of %d bytes", files[i].path, limit)
		}
		total += p.Size
		if info, err := os.Stat(lfsPath(r.mirror, p.OID)); err != nil || info.Size() != p.Size {
			missing = append(missing, p)
		}
		return nil
	})
	return missing, err
}

// StoreLFS stores an LFS object when its bytes match the pointer, and reports
// whether they do. A part of it is never visible.
func (m *Mirror) StoreLFS(p references.Pointer, body io.Reader) (matches bool, err error) {
	path := lfsPath(m, p.OID)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "tmp_")
	if err != nil {
		return false, err
	}
	defer func() {
		if err != nil || !matches {
			_ = os.Remove(f.Name())
		}
	}()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, h), io.LimitReader(body, p.Size+1))
	if matches = n == p.Size && hex.EncodeToString(h.Sum(nil)) == p.OID; err == nil && matches {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil || !matches {
		return false, err
	}
	return true, os.Rename(f.Name(), path)
}
