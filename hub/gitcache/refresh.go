package gitcache

import (
	"context"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
)

// Head returns what a source points at. errcode.NotFound when it was never
// evaluated.
func (o *owners) Head(ctx context.Context, sourceID string) (Head, error) {
	return o.store.Head(ctx, sourceID)
}

// HeadsOf returns the heads of those sources that were evaluated.
func (o *owners) HeadsOf(ctx context.Context, sourceIDs []string) ([]Head, error) {
	return o.store.HeadsOf(ctx, sourceIDs)
}

// Resolve evaluates a source once, at the refs as last read, without following
// it, for validation. When a source cannot be used, the error has the code and
// text that the head would have. errcode.Unavailable while the repository is
// not copied yet.
func (o *owners) Resolve(ctx context.Context, s Source) (Head, error) {
	if a := o.agent(s.RepositoryID); a != nil {
		return a.Resolve(ctx, s)
	}
	if h, asked, err := o.resolveElsewhere(ctx, s); asked {
		return h, err
	}
	return Head{}, o.unowned(ctx, s.RepositoryID)
}

// Track ensures that a source is followed. It uses the store's transaction in
// ctx, if any. A source without services is dropped after an hour.
func (o *owners) Track(ctx context.Context, s Source) error { return o.store.PutSource(ctx, s) }

// Refresh requests a fetch of a repository and returns at once. The request is
// never lost: the fetch runs as soon as the last start is 5 s old and the kicks
// of this repository (4, and one more per 15 s) allow it. Several requests are
// merged into one. errcode.NotFound.
func (o *owners) Refresh(ctx context.Context, repositoryID string) error {
	if a := o.agent(repositoryID); a != nil {
		a.Kick()
		return nil
	}
	if asked, err := o.kickElsewhere(ctx, repositoryID, "", false); asked && err == nil {
		return nil
	}
	// The current or next owner finds the request in the database.
	return o.store.RequestKick(ctx, repositoryID)
}

// RefreshAndWait requests a fetch and returns when one that began after the
// call has ended and its heads are written. For a full commit id that the
// mirror already has, it requests nothing. The error is the fetch's;
// errcode.NotFound; errcode.Unavailable when ctx ended first.
func (o *owners) RefreshAndWait(ctx context.Context, repositoryID, commit string) error {
	before, err := o.store.Repository(ctx, repositoryID)
	if err != nil {
		return err
	}
	for requested := false; ; {
		if a := o.agent(repositoryID); a != nil {
			err := a.KickAndWait(ctx, commit)
			if !errcode.Is(err, errcode.Conflict) {
				return err
			}
			// Its lease is over: the repository got another URL.
		}
		if done, err := o.kickedElsewhere(ctx, repositoryID, commit); done {
			return err
		}
		if !requested {
			// The repository has no owner, or this replica is about to own it.
			if err := o.store.RequestKick(ctx, repositoryID); err != nil {
				return err
			}
			requested = true
		}
		if jitter.Wait(ctx, jitter.Add(100*time.Millisecond, 200*time.Millisecond)) != nil {
			return errcode.Hide(errcode.Unavailable, ctx.Err(), "the repository was not read in time; the fetch continues, try again later")
		}
		if r, err := o.store.Repository(ctx, repositoryID); err == nil && r.Health.CheckedAt.After(before.Health.CheckedAt) {
			return nil
		}
	}
}

// kickedElsewhere waits for a fetch by another replica. When that replica lost
// the repository meanwhile, the fetch is not done: its error then says nothing
// about upstream.
func (o *owners) kickedElsewhere(ctx context.Context, repositoryID, commit string) (done bool, err error) {
	before, err := o.Owner(ctx, repositoryID)
	if err != nil {
		return false, nil
	}
	asked, err := o.kickElsewhere(ctx, repositoryID, commit, true)
	if err == nil || !asked || ctx.Err() != nil || !errcode.Is(err, errcode.Unavailable) {
		return asked, err
	}
	after, lost := o.owner(ctx, repositoryID, 0)
	return lost == nil && after == before, err
}
