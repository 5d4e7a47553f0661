package identity

import (
	"context"
	"maps"
	"slices"
)

// Reach is where a caller may do one action, for lists: everywhere, or in some
// projects, clusters and services, by sorted ids.
type Reach struct {
	Everywhere bool
	Projects   []string
	Clusters   []string
	Services   []string
	// Only limits the reach to one project; empty means no limit.
	Only string
}

// Covers reports whether the scope is within reach.
func (r Reach) Covers(s Scope) bool {
	if r.Only != "" && r.Only != s.Project && r.Only != s.ClusterProject {
		return false
	}
	has := func(ids []string, id string) bool {
		_, found := slices.BinarySearch(ids, id)
		return id != "" && found
	}
	return r.Everywhere || has(r.Projects, s.Project) || has(r.Projects, s.ClusterProject) || has(r.Clusters, s.Cluster) || has(r.Services, s.Service)
}

// Reach returns where the caller may do the action. When that is nowhere, the
// errors are those of Authorize.
func (d *Directory) Reach(ctx context.Context, p Principal, action Action) (Reach, error) {
	hub := Scope{Project: p.Project}
	err := d.Authorize(ctx, p, action, hub)
	if err == nil {
		return Reach{Everywhere: true, Only: p.Project}, nil
	}
	if p.Kind != KindUser && p.Kind != KindServiceAccount || p.capped(action) != nil {
		return Reach{}, err
	}
	ids := map[Level]map[string]bool{LevelProject: {}, LevelCluster: {}, LevelService: {}}
	n := 0
	d.access.each(p.ID, func(b Binding) {
		if of := ids[b.Level]; of != nil && b.Action.implies(action) {
			of[b.ObjectID] = true
			n++
		}
	})
	if n == 0 {
		return Reach{}, err
	}
	sorted := func(level Level) []string { return slices.Sorted(maps.Keys(ids[level])) }
	return Reach{Projects: sorted(LevelProject), Clusters: sorted(LevelCluster), Services: sorted(LevelService), Only: p.Project}, nil
}
