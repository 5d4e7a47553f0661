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
	// Administrator is set where it is an administrator's: then projects of
	// administrators only are within it too.
	Administrator bool
	// Only limits the reach to one project; empty means no limit.
	Only string
}

// All is the reach of the hub itself, which nothing is left out of.
var All = Reach{Everywhere: true, Administrator: true}

// Same reports whether two reaches are equal.
func (r Reach) Same(o Reach) bool {
	return r.Everywhere == o.Everywhere && r.Administrator == o.Administrator && r.Only == o.Only &&
		slices.Equal(r.Projects, o.Projects) && slices.Equal(r.Clusters, o.Clusters) && slices.Equal(r.Services, o.Services)
}

// All reports whether nothing is left out.
func (r Reach) All() bool { return r.Hub() && r.Administrator }

// Hub reports whether the hub as a whole is within reach, with what is in no project.
func (r Reach) Hub() bool { return r.Everywhere && r.Only == "" }

// Covers reports whether the scope is within reach.
func (r Reach) Covers(s Scope) bool {
	if r.Only != "" && r.Only != s.Project && r.Only != s.ClusterProject {
		return false
	}
	if !r.Administrator && s.ForAdministrators() {
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
	decided := d.Decide(ctx, p, action, hub)
	err := decided.Err
	if err == nil {
		return Reach{Everywhere: true, Administrator: decided.Admin, Only: p.Project}, nil
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
