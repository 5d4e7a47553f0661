package fleet

import (
	"context"

	"github.com/axle-cd/axle/hub/identity"
)

// ProjectScope returns a project's scope for access; an empty name is the
// default project. NotFound.
func (f *projects) ProjectScope(ctx context.Context, name string) (identity.Scope, error) {
	p, err := f.Project(ctx, name)
	return identity.Scope{Project: p.ID}, err
}

// ClusterScope returns a cluster's scope for access. NotFound.
func (f *clusters) ClusterScope(ctx context.Context, name string) (identity.Scope, error) {
	c, err := f.store.ClusterByName(ctx, name)
	return c.Scope(), err
}

// Declared returns a service as it is declared, and its scope for access.
// NotFound.
func (f *serviceViews) Declared(ctx context.Context, ref Ref) (Service, identity.Scope, error) {
	s, err := f.store.ServiceByRef(ctx, ref)
	if err != nil {
		return Service{}, identity.Scope{}, err
	}
	c, err := f.store.ClusterByID(ctx, s.ClusterID)
	return s.Service, s.Scope(c), err
}

// Scope returns a cluster's scope for access.
func (c Cluster) Scope() identity.Scope {
	return identity.Scope{Project: c.ProjectID, Cluster: c.ID}
}

// Scope returns the scope for access of a service on a cluster.
func (s Service) Scope(c Cluster) identity.Scope {
	scope := identity.Scope{Project: s.ProjectID, Cluster: c.ID, Service: s.ID}
	if c.ProjectID != s.ProjectID {
		scope.ClusterProject = c.ProjectID
	}
	return scope
}

// Extent is how many objects of a project a caller may see.
type Extent struct {
	Clusters int
	Services int
}

// ReachReader counts what is within a caller's reach.
type ReachReader interface {
	// CountsWithin counts clusters and services by project id. Projects with
	// nothing within reach are left out.
	CountsWithin(ctx context.Context, r identity.Reach) (map[string]Extent, error)
}

// ProjectsWithin returns the projects that are within reach or contain
// something that is, in order of name, with counts of what is within reach.
func (f *projects) ProjectsWithin(ctx context.Context, r identity.Reach) ([]Project, error) {
	all, err := f.store.Projects(ctx)
	if err != nil || r.All() {
		return all, err
	}
	counts, err := f.store.CountsWithin(ctx, r)
	if err != nil {
		return nil, err
	}
	var seen []Project
	for _, p := range all {
		of, some := counts[p.ID]
		if some || r.Covers(identity.Scope{Project: p.ID}) {
			p.Clusters, p.Services = of.Clusters, of.Services
			seen = append(seen, p)
		}
	}
	return seen, nil
}
