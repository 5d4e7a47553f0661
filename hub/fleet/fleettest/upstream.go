package fleettest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/errcode"
)

// Upstream replaces the git cache: it knows what sources point at.
type Upstream struct {
	mu    sync.Mutex
	heads map[string]fleet.Head
	moved map[string]bool
	// Failing are the repositories that cannot be read, by id.
	Failing map[string]fleet.Upstream
}

// Bind implements fleet.Sources. The repository "missing" does not exist.
func (u *Upstream) Bind(_ context.Context, w fleet.SourceWant) (repositoryID string, err error) {
	if w.Repository+w.URL == "missing" {
		return "", errcode.New(errcode.Invalid, "repository: no such repository")
	}
	return cmp.Or(w.Bound, "repo_"+w.Repository+w.URL), nil
}

// Follow implements fleet.Sources.
func (u *Upstream) Follow(_ context.Context, w fleet.SourceWant, repositoryID string) (sourceID string, err error) {
	return SourceID(repositoryID, w.Ref+w.Version, w.Folder+w.Chart), nil
}

// SourceID is the id that Upstream gives a source.
func SourceID(repository, ref, folder string) string {
	return "src_" + repository + "_" + ref + "_" + folder
}

// Upstreams implements fleet.Sources.
func (u *Upstream) Upstreams(context.Context, []string) (map[string]fleet.Upstream, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.Failing), nil
}

// Heads implements fleet.Sources.
func (u *Upstream) Heads(_ context.Context, ids []string) (map[string]fleet.Head, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	heads := map[string]fleet.Head{}
	for _, id := range ids {
		if h, ok := u.heads[id]; ok {
			heads[id] = h
		}
	}
	return heads, nil
}

// Moved implements fleet.Sources.
func (u *Upstream) Moved(_ context.Context, after string, limit int) ([]string, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(u.moved)), func(id string) bool { return id <= after })
	return ids[:min(limit, len(ids))], nil
}

// Followed implements fleet.Sources.
func (u *Upstream) Followed(_ context.Context, ids []string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, id := range ids {
		delete(u.moved, id)
	}
	return nil
}

// Commit makes a source point at the n-th content.
func (u *Upstream) Commit(id string, n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.heads[id] = fleet.Head{SourceID: id, Content: fleet.Content{
		RepositoryID: "repo_main", SourceRevision: fmt.Sprintf("%040d", n), Digest: ContentName(n),
		Message: fmt.Sprintf("change %d", n), Author: "eve",
	}}
	u.moved[id] = true
}

// ContentName is the digest of the n-th content.
func ContentName(n int) string { return fmt.Sprintf("axle1:%064d", n) }

// Fail makes a source fail with a message.
func (u *Upstream) Fail(id, text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	h := u.heads[id]
	h.SourceID, h.Error, h.ErrorAt = id, text, 7
	u.heads[id], u.moved[id] = h, true
}
