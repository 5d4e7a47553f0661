// Package risks lists the sources at risk of the whole fleet for people: those that
// hub/fleet/binding finds in services and in templates of global services. It reads, and
// changes nothing. hub wires it into the console.
package risks

import (
	"cmp"
	"context"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/binding"
	"github.com/axle-cd/axle/hub/store"
)

// Sources lists them: services first, each in order of name.
func Sources(ctx context.Context, s *store.Store) (all []binding.Risk, err error) {
	repositories, err := repositories(ctx, s)
	if err != nil {
		return nil, err
	}
	add := func(object, project, projectID string, b binding.Bound) {
		for _, risk := range binding.Risks(b, projectID, repositories) {
			risk.Object, risk.Project = object, project
			all = append(all, risk)
		}
	}
	ids, err := s.ServicesBoundElsewhere(ctx)
	if err != nil {
		return nil, err
	}
	services, err := s.ServicesByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, v := range services {
		add("service "+v.Ref().String(), v.Project, v.ProjectID, v.Bound())
	}
	templates, err := s.BoundTemplates(ctx)
	for _, g := range templates {
		add("global service "+g.Name, g.Project, g.Finds(), binding.Bound{Spec: g.Spec, Repositories: g.Repositories})
	}
	return all, err
}

func repositories(ctx context.Context, s *store.Store) (map[string]binding.Repository, error) {
	all, err := s.Repositories(ctx)
	found := make(map[string]binding.Repository, len(all))
	for _, r := range all {
		found[r.ID] = binding.Repository{Name: r.Name, ProjectID: cmp.Or(r.ProjectID, fleet.DefaultProjectID), URL: r.URL}
		if r.Options.Internal {
			found[r.ID] = binding.Repository{URL: r.URL}
		}
	}
	return found, err
}
