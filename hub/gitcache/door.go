package gitcache

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/nodecache"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
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
	from := "disk"
	// 1. The files on this replica's disk; 2. and 3. stream through them.
	f, err := c.node.Get(ctx, d, func(ctx context.Context, w io.Writer) (digest.Digest, error) {
		from = "built"
		return c.fromOwner(ctx, d, w)
	})
	if err != nil {
		c.metrics.served.WithLabelValues("none").Inc()
		return nil, c.unserved(ctx, d, err)
	}
	c.metrics.served.WithLabelValues(from).Inc()
	return newTarball(d, f), nil
}

// fromOwner writes a tarball's bytes as the repository's owner has or makes
// them. Only an owner's git agent touches upstream, and not even it for this:
// what has a recipe is in the mirror.
func (c *Cache) fromOwner(ctx context.Context, d digest.Digest, w io.Writer) (digest.Digest, error) {
	a, err := c.store.Artifact(ctx, d)
	if err != nil {
		return "", err
	}
	agent := c.agent(a.Recipe.RepositoryID)
	if agent == nil {
		return "", errcode.New(errcode.Unavailable, "the repository of %s has no owner on this replica yet; try again in a moment", d).After(time.Second)
	}
	return agent.Rebuild(ctx, a.Recipe, w)
}

// unserved gives a code to why a tarball could not be had.
func (c *Cache) unserved(ctx context.Context, d digest.Digest, err error) error {
	var mismatch *digest.MismatchError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &mismatch):
		return errcode.New(errcode.Unprocessable, "the recipe of %s makes other content now: %w", d, err)
	case errors.Is(err, fs.ErrNotExist):
		return errcode.New(errcode.Unavailable, "tarball %s was evicted while it was opened; the disk is too small", d)
	}
	return err
}

func newTarball(d digest.Digest, f *nodecache.File) *Tarball {
	return &Tarball{ReadSeekCloser: f, Digest: d, Size: f.Size, ETag: `"` + f.Hash[:32] + `-zstd"`, ContentType: ContentType, ModTime: f.Stored}
}

// Head returns what a source points at. errcode.NotFound when it was never
// evaluated.
func (c *Cache) Head(ctx context.Context, sourceID string) (Head, error) {
	return c.store.Head(ctx, sourceID)
}

// HeadsOf returns what those of the sources point at that were evaluated.
func (c *Cache) HeadsOf(ctx context.Context, sourceIDs []string) ([]Head, error) {
	return c.store.HeadsOf(ctx, sourceIDs)
}

// Resolve evaluates a source once, at the refs as last read, without following
// it: for validation. A source that cannot be produced is an error whose code
// and text are those that the head would carry. errcode.Unavailable while the
// repository is not copied yet.
func (c *Cache) Resolve(ctx context.Context, s Source) (Head, error) {
	if a := c.agent(s.RepositoryID); a != nil {
		return a.Resolve(ctx, s)
	}
	if h, asked, err := c.resolveElsewhere(ctx, s); asked {
		return h, err
	}
	return Head{}, c.unowned(ctx, s.RepositoryID)
}

// Track makes sure that a source is followed. The store's transaction in ctx,
// if any, is used. A source that no service refers to any more is dropped
// after an hour.
func (c *Cache) Track(ctx context.Context, s Source) error { return c.store.PutSource(ctx, s) }

// Refresh asks for a fetch of a repository and returns at once. It is never
// lost: it runs as soon as the last start is 5 s old and the kicks of this
// repository (4, one more per 15 s) allow; several are one.
// errcode.NotFound.
func (c *Cache) Refresh(ctx context.Context, repositoryID string) error {
	if a := c.agent(repositoryID); a != nil {
		a.Kick()
		return nil
	}
	if asked, err := c.kickElsewhere(ctx, repositoryID, "", false); asked && err == nil {
		return nil
	}
	// Whoever is, or becomes, the owner finds it in the database.
	return c.store.RequestKick(ctx, repositoryID)
}

// RefreshAndWait asks for a fetch and returns when one that began after the
// call has ended and heads are written. A full commit id that the mirror
// already has asks for nothing. The error is the fetch's; errcode.NotFound;
// errcode.Unavailable when ctx ended before.
func (c *Cache) RefreshAndWait(ctx context.Context, repositoryID, commit string) error {
	before, err := c.store.Repository(ctx, repositoryID)
	if err != nil {
		return err
	}
	for requested := false; ; {
		if a := c.agent(repositoryID); a != nil {
			return a.KickAndWait(ctx, commit)
		}
		if done, err := c.kickedElsewhere(ctx, repositoryID, commit); done {
			return err
		}
		if !requested {
			// Nobody owns it, or this replica is about to.
			if err := c.store.RequestKick(ctx, repositoryID); err != nil {
				return err
			}
			requested = true
		}
		if jitter.Wait(ctx, jitter.Add(100*time.Millisecond, 200*time.Millisecond)) != nil {
			return errcode.Hide(errcode.Unavailable, ctx.Err(), "the repository was not read in time; it will be, look again later")
		}
		if r, err := c.store.Repository(ctx, repositoryID); err == nil && r.Health.CheckedAt.After(before.Health.CheckedAt) {
			return nil
		}
	}
}

// kickedElsewhere waits for a fetch of another replica. It is not done when
// that one lost the repository meanwhile: its error then says nothing about
// upstream.
func (c *Cache) kickedElsewhere(ctx context.Context, repositoryID, commit string) (done bool, err error) {
	before, err := c.Owner(ctx, repositoryID)
	if err != nil {
		return false, nil
	}
	asked, err := c.kickElsewhere(ctx, repositoryID, commit, true)
	if err == nil || !asked || ctx.Err() != nil || !errcode.Is(err, errcode.Unavailable) {
		return asked, err
	}
	after, lost := c.owner(ctx, repositoryID, 0)
	return lost == nil && after == before, err
}
