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
	"github.com/axle-cd/axle/internal/risk"
)

// Sources lists them in order of their objects.
func Sources(ctx context.Context, s *store.Store) (all []risk.Source, err error) {
	repositories, err := repositories(ctx, s)
	if err != nil {
		return nil, err
	}
	add := func(object, project, projectID, template string, b binding.Bound) {
		for _, found := range binding.Risks(b, projectID, repositories) {
			found.Object, found.Project, found.Template = object, project, template
			all = append(all, found)
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
	slices.SortFunc(all, func(a, b risk.Source) int { return strings.Compare(a.Object, b.Object) })
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
