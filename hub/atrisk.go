package hub

import (
	"cmp"
	"context"
	"fmt"

	"github.com/axle-cd/axle/hub/atrisk"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/risks"
	"github.com/axle-cd/axle/hub/store"
)

// atRisk lists what is older than a rule that would refuse it today.
func (h *Hub) atRisk(ctx context.Context, limit int) ([]atrisk.Risk, int, error) {
	return atrisk.List(ctx, limit,
		atrisk.Clusters(h.fleet),
		atrisk.Groups(h.callers.Identity),
		atrisk.Services(store.Fleet(h.store)),
		gitFiles{h.cache, h.store}.atRisk(h.backends),
		h.sourcesAtRisk,
	)
}

// sourcesAtRisk finds sources whose URL found a repository that others may change.
func (h *Hub) sourcesAtRisk(ctx context.Context) (all []atrisk.Risk, err error) {
	found, err := risks.Sources(ctx, h.store)
	for _, r := range found {
		follows := "one that the hub follows by itself, which somebody changed"
		if r.Name != "" {
			follows = "repository " + r.Name + ", which others may change"
		}
		all = append(all, atrisk.Risk{Kind: "source", Object: r.Object,
			Why:     fmt.Sprintf("its field %s names the URL %s and follows %s (now %s)", r.Field, r.URL, follows, r.Repository.URL),
			Command: fmt.Sprintf("# register %q in project %s, or name the repository in %s, and apply it again", r.URL, cmp.Or(r.Project, fleet.DefaultProject), r.Field)})
	}
	return all, err
}
