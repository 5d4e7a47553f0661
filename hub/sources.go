package hub

import (
	"cmp"
	"context"
	"path"
	"strings"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/bundled"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// sources connects services to the git cache; neither package knows the other.
type sources struct {
	cache *gitcache.Cache
	store *store.Store
	// reads reports whether the caller of a context may read things of a project.
	reads func(ctx context.Context, projectID string) bool
}

var _ fleet.Sources = sources{}

// newSources returns the sources of a hub.
func newSources(h *Hub) sources {
	return sources{h.cache, h.store, func(ctx context.Context, projectID string) bool {
		caller, known := identity.FromContext(ctx)
		return known && h.callers.Identity.Authorize(ctx, caller, identity.ActionRead, identity.Scope{Project: projectID}) == nil
	}}
}

// Bind implements fleet.Sources.
func (s sources) Bind(ctx context.Context, want fleet.SourceWant) (repositoryID string, err error) {
	if bundled.Made(want.URL) != nil {
		return "", nil
	}
	r, err := s.bound(ctx, want)
	switch {
	case !errcode.Is(err, errcode.NotFound):
	case want.Repository == "":
		r, err = s.atURL(ctx, want)
	default:
		r, err = s.cache.FindRepository(ctx, want.Repository)
	}
	hidden := err == nil && want.Anew && !r.Options.Internal && projectOf(r) != want.ProjectID && !s.reads(ctx, projectOf(r))
	if hidden || errcode.Is(err, errcode.NotFound) {
		return "", want.Missing()
	}
	if err != nil {
		return "", err
	}
	// A transaction that changes its address looks for who uses it.
	return r.ID, event.DependsOn(ctx, event.Change{Kind: event.KindRepository, Key: r.ID})
}

// bound returns the repository that a reference is bound to. NotFound if it has to be
// found. A URL that the project registered since is that of its own repository: for a
// source that is new, where the source follows what others may change, and where the hub
// follows the URL by itself and never could read it.
func (s sources) bound(ctx context.Context, want fleet.SourceWant) (gitcache.Repository, error) {
	if want.Bound == "" {
		return gitcache.Repository{}, errcode.New(errcode.NotFound, "the source is bound to no repository")
	}
	r, err := s.cache.Repository(ctx, want.Bound)
	own := !r.Options.Internal && projectOf(r) == want.ProjectID
	asWritten, neverRead := r.Options.Internal && isAt(r, want), r.Options.Internal && r.Health.FetchedAt.IsZero()
	keeps := !want.Anew && !neverRead && (want.Former || asWritten)
	if err != nil || own || want.Repository != "" || keeps {
		return r, err
	}
	registered, err := s.registered(ctx, want)
	if errcode.Is(err, errcode.NotFound) {
		return r, nil
	}
	return registered, err
}

// projectOf returns the project of a registered repository.
func projectOf(r gitcache.Repository) string { return cmp.Or(r.ProjectID, fleet.DefaultProjectID) }

// registered returns the repository that the project registered with the URL of a
// source, the first in order of name. Those of other projects are never found: a stranger
// who registers the URL could change it later. NotFound.
func (s sources) registered(ctx context.Context, want fleet.SourceWant) (gitcache.Repository, error) {
	all, err := s.store.RepositoriesNamed(ctx, nil, []string{want.URL})
	for _, r := range all {
		if !r.Options.Internal && projectOf(r) == want.ProjectID && isAt(r, want) {
			return r, nil
		}
	}
	return gitcache.Repository{}, cmp.Or(err, error(errcode.New(errcode.NotFound, "the project registered no such URL")))
}

// atURL returns what a URL finds: the project's own repository, otherwise, for a chart,
// the URL itself, which the hub follows without credentials. NotFound.
func (s sources) atURL(ctx context.Context, want fleet.SourceWant) (gitcache.Repository, error) {
	r, err := s.registered(ctx, want)
	if !errcode.Is(err, errcode.NotFound) || want.Chart == "" {
		return r, err
	}
	kind, url := chartURL(want)
	r, err = s.cache.FollowByItself(ctx, "", gitcache.Repository{Kind: kind, URL: url}, gitcache.Credentials{})
	if errcode.Is(err, errcode.Invalid) {
		return r, want.Invalid("url", "%w", err)
	}
	return r, err
}

// Follow implements fleet.Sources.
func (s sources) Follow(ctx context.Context, want fleet.SourceWant, repositoryID string) (sourceID string, err error) {
	if bundled.Made(want.URL) != nil {
		return s.followBundled(ctx, want)
	}
	r, err := s.cache.Repository(ctx, repositoryID)
	if errcode.Is(err, errcode.NotFound) {
		return "", want.Missing()
	}
	if err != nil {
		return "", err
	}
	source, err := sourceOf(r, want)
	if err != nil {
		return "", err
	}
	return source.ID, s.cache.Track(ctx, source)
}

// followBundled follows files that the hub makes itself: those of this version, or
// those that another version stored.
func (s sources) followBundled(ctx context.Context, want fleet.SourceWant) (sourceID string, err error) {
	own, err := bundled.Made(want.URL)()
	if err != nil {
		return "", err
	}
	if want.Ref == own.Digest.String() {
		err = s.store.PutPackage(ctx, want.Ref, own.Tarball)
	} else {
		_, err = s.store.Package(ctx, want.Ref)
	}
	if errcode.Is(err, errcode.NotFound) {
		return "", want.Invalid("ref", "the hub has no files %.80q for %s", want.Ref, want.URL)
	}
	return bundled.Source(want.Ref), err
}

// isAt reports whether a repository has the URL of a source.
func isAt(r gitcache.Repository, want fleet.SourceWant) bool {
	if want.Chart == "" {
		return want.URL != "" && r.IsAt(want.URL)
	}
	kind, url := chartURL(want)
	return r.Kind == kind && r.IsAt(url)
}

// chartURL returns the URL and the kind of a chart's repository.
func chartURL(want fleet.SourceWant) (gitcache.Kind, string) {
	url := strings.TrimRight(strings.TrimSpace(want.URL), "/")
	if strings.HasPrefix(strings.ToLower(url), "oci://") {
		return gitcache.KindOCI, url
	}
	return gitcache.KindHelm, url
}

// sourceOf converts a wanted source for a repository of its kind.
func sourceOf(r gitcache.Repository, want fleet.SourceWant) (gitcache.Source, error) {
	source := gitcache.Source{
		RepositoryID: r.ID, Ref: strings.TrimSpace(want.Ref), Folder: want.Folder, Files: want.Files,
		Options: record.SourceOptions{Submodules: want.Submodules, LFS: want.LFS},
	}
	switch {
	case want.Chart != "" && r.Kind == record.Git:
		return source, want.Invalid("repository", "%q is a Git repository; name the chart's folder and ref in helm.git, or name a chart repository", r.Name)
	case want.Chart != "" && r.Kind == record.Bucket:
		return source, want.Invalid("repository", "%q is a bucket, not a chart repository", r.Name)
	case want.Chart != "" && r.Kind == record.OCI:
		if source.Ref = cmp.Or(want.Version, newestVersion); path.Base(r.URL) != want.Chart {
			source.Folder = want.Chart
		}
	case want.Chart != "":
		source.Folder, source.Ref = want.Chart, want.Version
	case r.Kind == record.Git && source.Ref == "":
		return source, want.Invalid("ref", "is needed: a branch, a tag or a full commit id")
	case r.Kind == record.OCI && source.Ref == "":
		return source, want.Invalid("ref", "is needed: a tag, a range of versions or a digest")
	case r.Kind == record.Bucket && source.Ref != "":
		return source, want.Invalid("ref", "a bucket has no refs; leave it out")
	case r.Kind != record.Git && source.Options != (record.SourceOptions{}):
		return source, want.Invalid("submodules", "submodules and lfs are for Git repositories; %q is of type %s", r.Name, r.Kind)
	}
	settled, err := source.Settle(r.Kind)
	if err != nil {
		return source, errcode.New(errcode.Invalid, "%s: %w", want.At, err)
	}
	return settled, nil
}

// newestVersion is the range that includes every version.
const newestVersion = "*"

// Moved implements fleet.Sources.
func (s sources) Moved(ctx context.Context, after string, limit int) ([]string, error) {
	return s.store.MovedSources(ctx, after, limit)
}

// Followed implements fleet.Sources.
func (s sources) Followed(ctx context.Context, sourceIDs []string) error {
	return s.store.FollowedSources(ctx, sourceIDs)
}

// Heads implements fleet.Sources.
func (s sources) Heads(ctx context.Context, sourceIDs []string) (map[string]fleet.Head, error) {
	heads := make(map[string]fleet.Head, len(sourceIDs))
	var upstream []string
	for _, id := range sourceIDs {
		d, ours := bundled.DigestOf(id)
		if !ours {
			upstream = append(upstream, id)
			continue
		}
		data, err := s.store.Package(ctx, d)
		if err != nil {
			return nil, err
		}
		heads[id] = fleet.Head{SourceID: id, Content: fleet.Content{SourceRevision: d, Digest: d, Size: int64(len(data)), Message: "made by the hub"}}
	}
	all, err := s.cache.HeadsOf(ctx, upstream)
	if err != nil {
		return nil, err
	}
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
		Error: h.Error, ErrorAt: clock.Micros(h.ErrorSince), FetchedAt: clock.Micros(h.FetchedAt),
	}
}

// Upstreams implements fleet.Sources.
func (s sources) Upstreams(ctx context.Context, repositoryIDs []string) (map[string]fleet.Upstream, error) {
	all, err := s.store.RepositoriesByID(ctx, repositoryIDs)
	if err != nil {
		return nil, err
	}
	found := make(map[string]fleet.Upstream, len(all))
	for _, r := range all {
		u := fleet.Upstream{Name: r.Name, Kind: string(r.Kind)}
		if r.Health.State == record.Failed {
			u.FailingSince, u.Message = clock.Micros(r.Health.FailedSince), r.Health.Message
		}
		if r.Options.Internal {
			u.Name = r.URL
			if u.Message != "" {
				u.Message += "; the hub follows this URL by itself, without credentials: if it needs some, register it in the project with axle repos add, and name that repository"
			}
		}
		found[r.ID] = u
	}
	return found, nil
}
