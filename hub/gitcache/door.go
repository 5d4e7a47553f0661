package gitcache

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/nodecache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/tarball"
	"github.com/axle-cd/axle/internal/tracing"
)

// Tarball is an open tarball. The digest identifies its content, the ETag its
// bytes. Close it.
type Tarball struct {
	io.ReadSeekCloser
	Digest digest.Digest
	Size   int64  // stored bytes
	ETag   string // quoted, strong: a hash of the stored bytes and encoding
	// ContentType is the content type of the stored bytes.
	ContentType string
	// From is the level that had it: disk, built, owner or replica.
	From string
	// ModTime is when the bytes were stored here. Do not send it to clients:
	// it differs between replicas.
	ModTime time.Time
}

// ContentType is the content type of every stored tarball.
const ContentType = "application/zstd"

// The levels that a tarball can come from, in the order of Fetch.
const (
	fromDisk    = "disk"    // of this replica
	fromBuilt   = "built"   // by the git agent of this replica
	fromOwner   = "owner"   // stored or built by the replica that owns it
	fromReplica = "replica" // stored by one that does not
	fromNowhere = "none"
)

// Fetch returns the tarball of a digest. errcode.NotFound when no recipe for it
// is known; errcode.Unavailable when it cannot be had now; errcode.Exhausted
// when there is no disk space for it.
func (c *Cache) Fetch(ctx context.Context, d digest.Digest) (*Tarball, error) {
	ctx, span := tracing.Start(ctx, "gitcache fetch")
	from := fromDisk
	// 1. The files on this replica's disk; all other levels fill them.
	f, err := c.node.Get(ctx, d, func(ctx context.Context, w io.Writer) (got digest.Digest, err error) {
		got, from, err = c.fill(ctx, d, w)
		return got, err
	})
	span.Set("digest", d.Short())
	span.Set("from", from)
	span.End(err)
	if err != nil {
		c.metrics.served.WithLabelValues(fromNowhere).Inc()
		return nil, c.unserved(ctx, d, err)
	}
	c.metrics.served.WithLabelValues(from).Inc()
	return newTarball(d, f, from), nil
}

// fill writes a tarball that is not on this replica's disk.
func (c *Cache) fill(ctx context.Context, d digest.Digest, w io.Writer) (got digest.Digest, from string, err error) {
	a, err := c.store.Artifact(ctx, d)
	if err != nil {
		return "", fromNowhere, err
	}
	// 2a. This replica's git agent, when it owns the repository. A failure of
	// its copy must not prevent others from having it.
	if own := c.agent(a.Recipe.RepositoryID); own != nil {
		if got, err = own.Rebuild(ctx, a.Recipe, w); err == nil {
			err = digest.Verify(d, got)
		}
		if err == nil {
			return got, fromBuilt, nil
		}
		c.config.Log.Warn("a tarball cannot be built here; asking other replicas for it", logkey.Repository, a.Recipe.RepositoryID, logkey.Error, err)
	}
	// 2b. The owner: its disk, then its git agent. Only that agent contacts
	// upstream (3), and it need not for this: what has a recipe is in the
	// mirror.
	asked, lost := c.copyFromOwner(ctx, a.Recipe.RepositoryID, d, w)
	if asked && lost == nil {
		return d, fromOwner, nil
	}
	// The owner is unreachable or fails: try any replica that has the bytes.
	if ctx.Err() == nil && c.copyFromAny(ctx, d, w) {
		return d, fromReplica, nil
	}
	if err = cmp.Or(err, lost); err == nil {
		err = c.unowned(ctx, a.Recipe.RepositoryID)
	}
	err = record.Told(err, nil)
	if ctx.Err() == nil && errcode.RetryAfter(err) == 0 && errcode.Is(err, errcode.Unavailable) {
		err = errcode.Hide(errcode.Of(err), err, "%s", errcode.Message(err)).After(time.Second)
	}
	return "", fromNowhere, err
}

// copyFromOwner copies the bytes that the repository's owner has or makes.
func (c *Cache) copyFromOwner(ctx context.Context, repositoryID string, d digest.Digest, w io.Writer) (asked bool, err error) {
	return c.askOwner(ctx, repositoryID, func(ctx context.Context, to peer.Replica) (bool, error) {
		return c.copyFrom(ctx, to, d, true, w)
	})
}

// copyFrom copies the bytes of another replica and verifies on the way that
// they are the content: bytes that were corrupted on its disk or in transit
// must not stay on this disk for a day.
func (c *Cache) copyFrom(ctx context.Context, to peer.Replica, d digest.Digest, build bool, w io.Writer) (owned bool, err error) {
	if err := restart(w); err != nil {
		return true, err
	}
	in, out := io.Pipe()
	checked := make(chan error, 1)
	go func() {
		got, err := tarball.Digest(ctx, in, c.config.Limits)
		if err == nil {
			err = digest.Verify(d, got)
		}
		in.CloseWithError(err)
		checked <- err
	}()
	owned, err = c.config.Replicas.Client.Tarball(ctx, to, d, build, io.MultiWriter(w, out))
	out.CloseWithError(err)
	if wrong := <-checked; wrong != nil && owned && ctx.Err() == nil {
		if err == nil || errors.Is(err, wrong) {
			err = errcode.Hide(errcode.Unavailable, wrong, "replica %s sent other content than %s: %v", to.Name, d.Short(), wrong)
		}
	}
	return owned, err
}

// copyFromAny copies the bytes that any other replica has on its disk.
func (c *Cache) copyFromAny(ctx context.Context, d digest.Digest, w io.Writer) bool {
	if c.config.Replicas == nil {
		return false
	}
	for _, r := range c.config.Replicas.Members.Known() {
		if r.Name == c.config.Replica || r.URL == "" || !r.Present {
			continue
		}
		if _, err := c.copyFrom(ctx, r, d, false, w); err == nil {
			return true
		}
	}
	return false
}

// restart discards what a failed attempt wrote of a tarball.
func restart(w io.Writer) error {
	if r, ok := w.(nodecache.Restarter); ok {
		return r.Restart()
	}
	return nil
}

// TarballHere implements peer.Tarballs. It searches only this replica, so
// requests never go in a circle.
func (c *Cache) TarballHere(ctx context.Context, d digest.Digest, build bool) (*peer.Tarball, bool, error) {
	f, err := c.node.Open(d)
	if errors.Is(err, fs.ErrNotExist) {
		if !build {
			return nil, true, errcode.New(errcode.NotFound, "tarball %s is not on this replica's disk", d.Short())
		}
		var a Artifact
		if a, err = c.store.Artifact(ctx, d); err != nil {
			return nil, true, err
		}
		own := c.agent(a.Recipe.RepositoryID)
		if own == nil {
			return nil, false, nil
		}
		f, err = c.node.Get(ctx, d, func(ctx context.Context, w io.Writer) (digest.Digest, error) {
			return own.Rebuild(ctx, a.Recipe, w)
		})
	}
	if err != nil {
		return nil, true, record.Told(c.unserved(ctx, d, err), nil)
	}
	return &peer.Tarball{ReadSeekCloser: f, Hash: f.Hash}, true, nil
}

// unserved adds an error code to the reason why a tarball could not be had.
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

func newTarball(d digest.Digest, f *nodecache.File, from string) *Tarball {
	return &Tarball{ReadSeekCloser: f, Digest: d, Size: f.Size, ETag: `"` + f.Hash[:32] + `-zstd"`, ContentType: ContentType, From: from, ModTime: f.Stored}
}

// Head returns what a source points at. errcode.NotFound when it was never
// evaluated.
func (c *Cache) Head(ctx context.Context, sourceID string) (Head, error) {
	return c.store.Head(ctx, sourceID)
}

// HeadsOf returns the heads of those sources that were evaluated.
func (c *Cache) HeadsOf(ctx context.Context, sourceIDs []string) ([]Head, error) {
	return c.store.HeadsOf(ctx, sourceIDs)
}

// Resolve evaluates a source once, at the refs as last read, without following
// it, for validation. When a source cannot be used, the error has the code and
// text that the head would have. errcode.Unavailable while the repository is
// not copied yet.
func (c *Cache) Resolve(ctx context.Context, s Source) (Head, error) {
	if a := c.agent(s.RepositoryID); a != nil {
		return a.Resolve(ctx, s)
	}
	if h, asked, err := c.resolveElsewhere(ctx, s); asked {
		return h, err
	}
	return Head{}, c.unowned(ctx, s.RepositoryID)
}

// Track ensures that a source is followed. It uses the store's transaction in
// ctx, if any. A source without services is dropped after an hour.
func (c *Cache) Track(ctx context.Context, s Source) error { return c.store.PutSource(ctx, s) }

// Refresh requests a fetch of a repository and returns at once. The request is
// never lost: the fetch runs as soon as the last start is 5 s old and the kicks
// of this repository (4, and one more per 15 s) allow it. Several requests are
// merged into one. errcode.NotFound.
func (c *Cache) Refresh(ctx context.Context, repositoryID string) error {
	if a := c.agent(repositoryID); a != nil {
		a.Kick()
		return nil
	}
	if asked, err := c.kickElsewhere(ctx, repositoryID, "", false); asked && err == nil {
		return nil
	}
	// The current or next owner finds the request in the database.
	return c.store.RequestKick(ctx, repositoryID)
}

// RefreshAndWait requests a fetch and returns when one that began after the
// call has ended and its heads are written. For a full commit id that the
// mirror already has, it requests nothing. The error is the fetch's;
// errcode.NotFound; errcode.Unavailable when ctx ended first.
func (c *Cache) RefreshAndWait(ctx context.Context, repositoryID, commit string) error {
	before, err := c.store.Repository(ctx, repositoryID)
	if err != nil {
		return err
	}
	for requested := false; ; {
		if a := c.agent(repositoryID); a != nil {
			err := a.KickAndWait(ctx, commit)
			if !errcode.Is(err, errcode.Conflict) {
				return err
			}
			// Its lease is over: the repository got another URL.
		}
		if done, err := c.kickedElsewhere(ctx, repositoryID, commit); done {
			return err
		}
		if !requested {
			// The repository has no owner, or this replica is about to own it.
			if err := c.store.RequestKick(ctx, repositoryID); err != nil {
				return err
			}
			requested = true
		}
		if jitter.Wait(ctx, jitter.Add(100*time.Millisecond, 200*time.Millisecond)) != nil {
			return errcode.Hide(errcode.Unavailable, ctx.Err(), "the repository was not read in time; the fetch continues, try again later")
		}
		if r, err := c.store.Repository(ctx, repositoryID); err == nil && r.Health.CheckedAt.After(before.Health.CheckedAt) {
			return nil
		}
	}
}

// kickedElsewhere waits for a fetch by another replica. When that replica lost
// the repository meanwhile, the fetch is not done: its error then says nothing
// about upstream.
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
