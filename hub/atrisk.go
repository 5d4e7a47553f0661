package hub

import (
	"context"

	"github.com/axle-cd/axle/hub/atrisk"
	"github.com/axle-cd/axle/hub/fleet/risks"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/internal/risk"
)

// atRisk lists what is older than a rule that would refuse it today.
func (h *Hub) atRisk(ctx context.Context, limit int) ([]risk.Risk, int, error) {
	return atrisk.List(ctx, limit,
		atrisk.Clusters(h.fleet),
		atrisk.Groups(h.callers.Identity),
		atrisk.Services(store.Fleet(h.store)),
		gitFiles{h.cache, h.store}.atRisk(h.backends),
		h.sourcesAtRisk,
	)
}

// sourcesAtRisk finds sources whose URL found a repository that others may change.
func (h *Hub) sourcesAtRisk(ctx context.Context) ([]risk.Risk, error) {
	found, err := risks.Sources(ctx, h.store)
	return risk.Sources(found), err
}
