package hub

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// sources is how services see the git cache; neither knows the other.
type sources struct{ cache *gitcache.Cache }

var _ fleet.Sources = sources{}

// RepositoryID implements fleet.Sources.
func (s sources) RepositoryID(ctx context.Context, name, url string) (string, error) {
	r, err := s.cache.FindRepository(ctx, name, url)
	if !errcode.Is(err, errcode.NotFound) {
		return r.ID, err
	}
	if name == "" {
		return "", errcode.New(errcode.NotFound, "no repository has the URL %.200q; add it with: axle repos add", url)
	}
	return "", errcode.New(errcode.NotFound, "there is no repository %q; see axle repos list, or add it with: axle repos add", name)
}

// Track implements fleet.Sources.
func (s sources) Track(ctx context.Context, want fleet.SourceWant) (string, error) {
	source, err := gitcache.NewSource(want.RepositoryID, want.Ref, want.Folder, want.Files)
	if err != nil {
		return "", err
	}
	return source.ID, s.cache.Track(ctx, source)
}

// Heads implements fleet.Sources.
func (s sources) Heads(ctx context.Context, sourceIDs []string) (map[string]fleet.Head, error) {
	all, err := s.cache.HeadsOf(ctx, sourceIDs)
	if err != nil {
		return nil, err
	}
	heads := make(map[string]fleet.Head, len(all))
	for _, h := range all {
		heads[h.SourceID] = fleetHead(h)
	}
	return heads, nil
}

func fleetHead(h gitcache.Head) fleet.Head {
	return fleet.Head{
		SourceID: h.SourceID,
		Content: fleet.Content{
			RepositoryID: h.RepositoryID, SourceRevision: h.Revision, Digest: h.Digest.String(), Entry: h.Entry, Size: h.Size,
			Message: h.Message, Author: h.Author, CommittedAt: clock.Micros(h.CommittedAt),
		},
		Error: h.Error, ErrorAt: clock.Micros(h.ErrorSince),
	}
}
