package hub

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// sources is how services see the git cache; neither knows the other.
type sources struct{ cache *gitcache.Cache }

var _ fleet.Sources = sources{}

// Follow implements fleet.Sources.
func (s sources) Follow(ctx context.Context, want fleet.SourceWant) (sourceID, repositoryID string, err error) {
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

// repository finds the repository that a source is in.
func (s sources) repository(ctx context.Context, want fleet.SourceWant) (gitcache.Repository, error) {
	if want.Chart != "" && want.URL != "" {
		return s.chartRepository(ctx, want)
	}
	r, err := s.registered(ctx, want.Repository, want.URL)
	if !errcode.Is(err, errcode.NotFound) {
		return r, err
	}
	if want.Repository == "" {
		return r, invalid(want.At, "url", "no repository has the URL %.200q; add it with: axle repos add", want.URL)
	}
	return r, invalid(want.At, "repository", "there is no repository %q; see axle repos list, or add it with: axle repos add", want.Repository)
}

// registered finds a repository that a person registered, by name, else by URL.
// Those that the hub follows for another one hold that one's credentials, so
// nobody else may name them.
func (s sources) registered(ctx context.Context, name, url string) (gitcache.Repository, error) {
	r, err := s.cache.FindRepository(ctx, name, url)
	if err != nil || !r.Options.Internal {
		return r, err
	}
	all, err := s.cache.Repositories(ctx)
	for _, other := range all {
		if name == "" && other.URL == r.URL && !other.Options.Internal {
			return other, err
		}
	}
	if err == nil {
		err = errcode.New(errcode.NotFound, "repository %q is followed for another one alone", r.Name)
	}
	return gitcache.Repository{}, err
}

// chartRepository finds the repository of charts at a URL, and begins to follow
// it, without credentials, when none is registered.
func (s sources) chartRepository(ctx context.Context, want fleet.SourceWant) (gitcache.Repository, error) {
	kind, url := gitcache.KindHelm, strings.TrimRight(strings.TrimSpace(want.URL), "/")
	if strings.HasPrefix(strings.ToLower(url), "oci://") {
		kind = gitcache.KindOCI
	}
	all, err := s.cache.Repositories(ctx)
	if err != nil {
		return gitcache.Repository{}, err
	}
	sum := sha256.Sum256([]byte(url))
	name := "charts-" + hex.EncodeToString(sum[:8])
	var followed *gitcache.Repository
	for i, r := range all {
		if r.Kind != kind || strings.TrimRight(r.URL, "/") != url {
			continue
		}
		if !r.Options.Internal {
			return r, nil
		}
		if r.Name == name {
			// Others are followed for one repository, with its credentials.
			followed = &all[i]
		}
	}
	if followed != nil {
		return *followed, nil
	}
	r, err := s.cache.CreateRepository(ctx, gitcache.Repository{
		Name: name, Kind: kind, URL: url, Options: record.Options{Internal: true},
	}, gitcache.Credentials{})
	if errcode.Is(err, errcode.Invalid) {
		return r, invalid(want.At, "url", "%w", err)
	}
	return r, err
}

// sourceOf says what a wanted source is in a repository of its kind.
func sourceOf(r gitcache.Repository, want fleet.SourceWant) (gitcache.Source, error) {
	source := gitcache.Source{
		RepositoryID: r.ID, Ref: strings.TrimSpace(want.Ref), Folder: want.Folder, Files: want.Files,
		Options: record.SourceOptions{Submodules: want.Submodules, LFS: want.LFS},
	}
	switch {
	case want.Chart != "" && r.Kind == record.Git:
		return source, invalid(want.At, "repository", "%q is a Git repository; name the chart's folder and ref in helm.git, or a repository of charts", r.Name)
	case want.Chart != "" && r.Kind == record.Bucket:
		return source, invalid(want.At, "repository", "%q is a bucket, not a repository of charts", r.Name)
	case want.Chart != "" && r.Kind == record.OCI:
		if source.Ref = cmp.Or(want.Version, newestVersion); path.Base(r.URL) != want.Chart {
			source.Folder = want.Chart
		}
	case want.Chart != "":
		source.Folder, source.Ref = want.Chart, want.Version
	case r.Kind == record.Git && source.Ref == "":
		return source, invalid(want.At, "ref", "is needed: a branch, a tag or a full commit id")
	case r.Kind == record.OCI && source.Ref == "":
		return source, invalid(want.At, "ref", "is needed: a tag, a range of versions or a digest")
	case r.Kind == record.Bucket && source.Ref != "":
		return source, invalid(want.At, "ref", "a bucket has no refs; leave it out")
	case r.Kind != record.Git && source.Options != (record.SourceOptions{}):
		return source, invalid(want.At, "submodules", "submodules and lfs are for Git repositories; %q is of type %s", r.Name, r.Kind)
	}
	settled, err := source.Settle(r.Kind)
	if err != nil {
		return source, errcode.New(errcode.Invalid, "%s: %w", want.At, err)
	}
	return settled, nil
}

// newestVersion is the range that every version is in.
const newestVersion = "*"

// invalid names the field of a source. The repository of "x.git" is beside it,
// and its URL inside.
func invalid(at, name, format string, args ...any) error {
	if name == "repository" {
		at = strings.TrimSuffix(at, "git")
	}
	field := strings.TrimSuffix(at, ".") + "." + name
	return errcode.New(errcode.Invalid, "%s: %w", strings.TrimPrefix(field, "."), fmt.Errorf(format, args...))
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
		Error: h.Error, ErrorAt: clock.Micros(h.ErrorSince), FetchedAt: clock.Micros(h.FetchedAt),
	}
}

// Upstreams implements fleet.Sources.
func (s sources) Upstreams(ctx context.Context, repositoryIDs []string) (map[string]fleet.Upstream, error) {
	all, err := s.cache.Repositories(ctx)
	if err != nil {
		return nil, err
	}
	found := make(map[string]fleet.Upstream, len(repositoryIDs))
	for _, r := range all {
		if !slices.Contains(repositoryIDs, r.ID) {
			continue
		}
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
