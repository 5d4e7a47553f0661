package gitcache

import (
	"context"
	"io"
	"time"

	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
)

// Tarball is an open tarball. Its content is named by the digest, its bytes by
// the ETag. Close it.
type Tarball struct {
	io.ReadSeekCloser
	Digest digest.Digest
	Size   int64  // stored bytes
	ETag   string // quoted, strong: a hash of the stored bytes and encoding
	// ContentType is what the stored bytes are.
	ContentType string
	// ModTime is when the bytes were stored here. Do not send it to clients:
	// it differs between replicas.
	ModTime time.Time
}

// ContentType of every stored tarball.
const ContentType = "application/zstd"

// Fetch returns the tarball of a digest. errcode.NotFound when no recipe for
// it is known; errcode.Unavailable when it cannot be built right now;
// errcode.Exhausted when there is no disk space to build it.
func (c *Cache) Fetch(ctx context.Context, d digest.Digest) (*Tarball, error) {
	return nil, errcode.New(errcode.Unavailable, "not built yet")
}

// Head returns what a source points at. errcode.NotFound when it was never
// evaluated.
func (c *Cache) Head(ctx context.Context, sourceID string) (Head, error) {
	return c.store.Head(ctx, sourceID)
}

// Resolve evaluates a source once, from the local mirror, without following
// it: for validation. The tarball is built and kept like any other. A source
// that cannot be produced is an error whose code and text are those that the
// head would carry. errcode.Unavailable while there is no mirror yet.
func (c *Cache) Resolve(ctx context.Context, s Source) (Head, error) {
	return Head{}, errcode.New(errcode.Unavailable, "not built yet")
}

// Track makes sure that a source is followed. The store's transaction in ctx,
// if any, is used. A source that no service refers to any more is dropped
// after an hour.
func (c *Cache) Track(ctx context.Context, s Source) error { return c.store.PutSource(ctx, s) }

// Refresh asks for a fetch of a repository and returns at once. It is never
// lost: it runs as soon as the last start is 5 s old and the kicks of this
// repository (4, one more per 15 s) allow; several are one.
func (c *Cache) Refresh(ctx context.Context, repositoryID string) error { return nil }

// RefreshAndWait asks for a fetch and returns when one that began after the
// call has ended and heads are written. A full commit id that the mirror
// already has asks for nothing. The error is the fetch's, or errcode.Unavailable
// with ctx's end.
func (c *Cache) RefreshAndWait(ctx context.Context, repositoryID, commit string) error { return nil }

// Changed tells the cache that a repository's row, or its set of sources,
// changed: call it for each feed row of those kinds. An empty ID means "any".
// It returns at once. Without it a change is noticed within 30 s.
func (c *Cache) Changed(repositoryID string) {}

// Ready is nil once Run has read the repositories and the disk is usable.
func (c *Cache) Ready() error { return errcode.New(errcode.Unavailable, "not built yet") }

// Run follows repositories until ctx ends. Leases are given back before it
// returns.
func (c *Cache) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
