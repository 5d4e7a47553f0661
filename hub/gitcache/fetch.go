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

// artifactReader has the recipes of digests.
type artifactReader interface {
	Artifact(ctx context.Context, d digest.Digest) (Artifact, error)
}

// tarballs serves the bytes of digests.
type tarballs struct {
	config  *Config
	store   artifactReader
	owners  *owners
	node    *nodecache.Cache
	metrics *metrics
	// variants are deltas and other forms of the tarballs in node.
	variants *variants
}

// Fetch returns the tarball of a digest. errcode.NotFound when no recipe for it
// is known; errcode.Unavailable when it cannot be had now; errcode.Exhausted
// when there is no disk space for it.
func (c *tarballs) Fetch(ctx context.Context, d digest.Digest) (*Tarball, error) {
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
func (c *tarballs) fill(ctx context.Context, d digest.Digest, w io.Writer) (got digest.Digest, from string, err error) {
	a, err := c.store.Artifact(ctx, d)
	if err != nil {
		return "", fromNowhere, err
	}
	// 2a. This replica's git agent, when it owns the repository. A failure of
	// its copy must not prevent others from having it.
	if own := c.owners.agent(a.Recipe.RepositoryID); own != nil {
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
		err = c.owners.unowned(ctx, a.Recipe.RepositoryID)
	}
	err = record.Told(err, nil)
	if ctx.Err() == nil && errcode.RetryAfter(err) == 0 && errcode.Is(err, errcode.Unavailable) {
		err = errcode.Hide(errcode.Of(err), err, "%s", errcode.Message(err)).After(time.Second)
	}
	return "", fromNowhere, err
}

// copyFromOwner copies the bytes that the repository's owner has or makes.
func (c *tarballs) copyFromOwner(ctx context.Context, repositoryID string, d digest.Digest, w io.Writer) (asked bool, err error) {
	return c.owners.ask(ctx, repositoryID, func(ctx context.Context, to peer.Replica) (bool, error) {
		return c.copyFrom(ctx, to, d, true, w)
	})
}

// copyFrom copies the bytes of another replica and verifies on the way that
// they are the content: bytes that were corrupted on its disk or in transit
// must not stay on this disk for a day.
func (c *tarballs) copyFrom(ctx context.Context, to peer.Replica, d digest.Digest, build bool, w io.Writer) (owned bool, err error) {
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
func (c *tarballs) copyFromAny(ctx context.Context, d digest.Digest, w io.Writer) bool {
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
func (c *tarballs) TarballHere(ctx context.Context, d digest.Digest, build bool) (*peer.Tarball, bool, error) {
	f, err := c.node.Open(d)
	if errors.Is(err, fs.ErrNotExist) {
		if !build {
			return nil, true, errcode.New(errcode.NotFound, "tarball %s is not on this replica's disk", d.Short())
		}
		var a Artifact
		if a, err = c.store.Artifact(ctx, d); err != nil {
			return nil, true, err
		}
		own := c.owners.agent(a.Recipe.RepositoryID)
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
func (c *tarballs) unserved(ctx context.Context, d digest.Digest, err error) error {
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
