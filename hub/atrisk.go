package hub

import (
	"context"

	"github.com/axle-cd/axle/hub/atrisk"
	"github.com/axle-cd/axle/hub/store"
)

// atRisk lists what is older than a rule that would refuse it today.
func (h *Hub) atRisk(ctx context.Context, limit int) ([]atrisk.Risk, int, error) {
	return atrisk.List(ctx, limit,
		atrisk.Clusters(h.fleet),
		atrisk.Groups(h.callers.Identity),
		atrisk.Services(store.Fleet(h.store)),
		gitFiles{h.cache, h.store}.atRisk(h.backends),
	)
}
