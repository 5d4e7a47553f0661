// Package risks lists the sources at risk of the whole fleet for people: those that
// hub/fleet/binding finds in services and in templates of global services. It reads, and
// changes nothing. hub wires it into the console.
package risks

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/binding"
	"github.com/axle-cd/axle/hub/store"
)

// Sources lists them in order of their objects.
func Sources(ctx context.Context, s *store.Store) (all []binding.Risk, err error) {
	repositories, err := repositories(ctx, s)
	if err != nil {
		return nil, err
	}
	add := func(object, project, projectID, template string, b binding.Bound) {
		for _, risk := range binding.Risks(b, projectID, repositories) {
			risk.Object, risk.Project, risk.Template = object, project, template
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
	templates, err := s.BoundTemplates(ctx)
	names := map[string]string{}
	for _, g := range templates {
		names[g.ID] = g.Name
		add("global service "+g.Name, g.Project, g.Finds(), "", binding.Bound{Spec: g.Spec, Repositories: g.Repositories})
	}
	for _, v := range services {
		add("service "+v.Ref().String(), v.Project, v.ProjectID, names[v.ManagedBy.ID], v.Bound())
	}
	slices.SortFunc(all, func(a, b binding.Risk) int { return strings.Compare(a.Object, b.Object) })
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
