package upstream

import (
	"context"
	"errors"
	"io"

	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/tarball"
)

var errStopped = errors.New("nobody wants more")

// stream yields the files one after the other, straight from git.
func (r *Reader) stream(ctx context.Context, files []file, yield func(tarball.Entry, error) bool) error {
	ids := make([]string, len(files))
	for i, f := range files {
		ids[i] = f.id
	}
	return r.mirror.Blobs(ctx, ids, func(i int, size int64, body io.Reader) error {
		e := tarball.Entry{Path: files[i].path, Type: kinds[files[i].mode], Size: size, Body: body}
		if e.Type == digest.Link {
			raw, err := io.ReadAll(io.LimitReader(body, digest.MaxPathBytes+1))
			if err != nil {
				return err
			}
			e = tarball.Entry{Path: e.Path, Type: e.Type, Target: string(raw)}
		}
		if !yield(e, nil) {
			return errStopped
		}
		return nil
	})
}
