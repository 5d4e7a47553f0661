// Package refs gives previews access to the rest of the hub: services, and what
// a source is at a ref that no service follows. The git cache resolves it under
// the limits of all fetches. Where upstream must be asked, the ref is followed
// for an hour, because only refs in use are listed.
package refs

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/preview"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/rule"
)

// New returns the previews of a hub.
func New(rows *store.Store, services *fleet.Fleet, cache *gitcache.Cache, c clock.Clock) *preview.Previews {
	return &preview.Previews{Store: rows, Writer: rows, Fleet: Fleet{services}, Sources: Sources{cache, rows.Source}, Clock: c}
}

// Sources implements preview.Sources.
type Sources struct {
	Cache *gitcache.Cache
	// Source returns NotFound when no service follows it any more.
	Source func(ctx context.Context, id string) (gitcache.Source, error)
}

var _ preview.Sources = Sources{}

// Fleet is the view of the fleet for previews.
type Fleet struct{ *fleet.Fleet }

var _ preview.Fleet = Fleet{}

// Declared implements preview.Fleet.
func (f Fleet) Declared(ctx context.Context, ref fleet.Ref) (fleet.Service, error) {
	s, _, err := f.Fleet.Declared(ctx, ref)
	return s, err
}

// SpecAt implements preview.Fleet.
func (f Fleet) SpecAt(ctx context.Context, now fleet.AgentSpec, revision int64) (fleet.AgentSpec, error) {
	return fleet.SpecAt(ctx, f.Fleet, now, revision)
}

// ResolveAt implements preview.Sources.
func (s Sources) ResolveAt(ctx context.Context, sourceID, ref string, refresh bool) (fleet.Content, error) {
	source, err := s.Source(ctx, sourceID)
	if err != nil {
		return fleet.Content{}, err
	}
	r, err := s.Cache.Repository(ctx, source.RepositoryID)
	if err != nil {
		return fleet.Content{}, err
	}
	source.ID, source.Ref = "", ref
	if source, err = source.Settle(r.Kind); err != nil {
		return fleet.Content{}, err
	}
	if refresh {
		if err := s.refresh(ctx, source); err != nil {
			return fleet.Content{}, err
		}
	}
	h, err := s.Cache.Resolve(ctx, source)
	if err == nil && h.Error != "" {
		err = errcode.New(errcode.Unprocessable, "%s", h.Error)
	}
	return fleet.Content{
		RepositoryID: h.RepositoryID, SourceRevision: h.Revision, Digest: h.Digest.String(), Entry: h.Entry, Size: h.Size,
		Message: h.Message, Author: h.Author, CommittedAt: clock.Micros(h.CommittedAt),
	}, err
}

func (s Sources) refresh(ctx context.Context, source gitcache.Source) error {
	if err := s.Cache.Track(ctx, source); err != nil {
		return err
	}
	commit := ""
	if rule.Commit.Valid(source.Ref) {
		commit = source.Ref
	}
	return s.Cache.RefreshAndWait(ctx, source.RepositoryID, commit)
}

// RepositoryID implements preview.Sources.
func (s Sources) RepositoryID(ctx context.Context, name string) (string, error) {
	r, err := s.Cache.FindRepository(ctx, name)
	return r.ID, err
}
