package hub

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/bundled"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// sources connects services to the git cache; neither package knows the other.
type sources struct {
	cache *gitcache.Cache
	store *store.Store
}

var _ fleet.Sources = sources{}

// Follow implements fleet.Sources.
func (s sources) Follow(ctx context.Context, want fleet.SourceWant) (sourceID, repositoryID string, err error) {
	if want.URL == bundled.NamespaceURL {
		sourceID, err = s.followBundled(ctx, want)
		return sourceID, "", err
	}
	r, err := s.repository(ctx, want)
	if err != nil {
		return "", "", err
	}
	source, err := sourceOf(r, want)
	if err != nil {
		return "", "", err
	}
	return source.ID, r.ID, s.cache.Track(ctx, source)
}

// followBundled follows files that the hub makes itself: those of this version, or
// those that another version stored.
func (s sources) followBundled(ctx context.Context, want fleet.SourceWant) (sourceID string, err error) {
	own, err := bundled.Namespace()
	if err != nil {
		return "", err
	}
	if want.Ref == own.Digest.String() {
		err = s.store.PutPackage(ctx, want.Ref, own.Tarball)
	} else {
		_, err = s.store.Package(ctx, want.Ref)
	}
	if errcode.Is(err, errcode.NotFound) {
		return "", want.Invalid("ref", "the hub has no files %.80q for namespaces", want.Ref)
	}
	return bundled.Source(want.Ref), err
}

// repository finds the repository of a source. For a chart's URL that nobody
// registered it starts to follow one.
func (s sources) repository(ctx context.Context, want fleet.SourceWant) (gitcache.Repository, error) {
	r, err := s.find(ctx, want)
	switch {
	case !errcode.Is(err, errcode.NotFound):
		return r, err
	case want.Chart != "" && want.Repository == "":
		return s.followChart(ctx, want)
	}
	return r, want.Missing()
}

// find returns the registered repository of a source: by name, otherwise by
// URL, with the project's own first and the others in order of name.
// Repositories that the hub follows for another one have that one's
// credentials, so nobody may refer to them. errcode.NotFound.
func (s sources) find(ctx context.Context, want fleet.SourceWant) (found gitcache.Repository, err error) {
	missing := errcode.New(errcode.NotFound, "no such repository is registered")
	if want.Repository != "" {
		found, err = s.cache.FindRepository(ctx, want.Repository, "")
		if err == nil && found.Options.Internal {
			return gitcache.Repository{}, missing
		}
		return found, err
	}
	all, err := s.store.RepositoriesNamed(ctx, nil, []string{want.URL})
	if err != nil {
		return found, err
	}
	for _, r := range all {
		if r.Options.Internal || !isAt(r, want) {
			continue
		}
		if own := cmp.Or(r.ProjectID, fleet.DefaultProjectID) == want.ProjectID; own || found.ID == "" {
			if found = r; own {
				break
			}
		}
	}
	if found.ID == "" {
		return found, missing
	}
	return found, nil
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

// followChart follows the charts at a URL without credentials.
func (s sources) followChart(ctx context.Context, want fleet.SourceWant) (gitcache.Repository, error) {
	kind, url := chartURL(want)
	sum := sha256.Sum256([]byte(url))
	name := "charts-" + hex.EncodeToString(sum[:8])
	r, err := s.cache.FindRepository(ctx, name, "")
	// Other internal repositories are followed for one repository, with its
	// credentials.
	if !errcode.Is(err, errcode.NotFound) && (err != nil || r.Options.Internal && r.Kind == kind && strings.TrimRight(r.URL, "/") == url) {
		return r, err
	}
	r, err = s.cache.CreateRepository(ctx, gitcache.Repository{
		Name: name, Kind: kind, URL: url, Options: record.Options{Internal: true},
	}, gitcache.Credentials{})
	if errcode.Is(err, errcode.Invalid) {
		return r, want.Invalid("url", "%w", err)
	}
	return r, err
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
		if r.Options.Internal {
			u.Name = r.URL
		}
		if r.Health.State == record.Failed {
			u.FailingSince, u.Message = clock.Micros(r.Health.FailedSince), r.Health.Message
		}
		found[r.ID] = u
	}
	return found, nil
}
