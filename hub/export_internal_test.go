package hub

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet"
)

// Follow is what a service's source goes through.
func (h *Hub) Follow(ctx context.Context, want fleet.SourceWant) (sourceID, repositoryID string, err error) {
	return sources{h.cache, h.store}.Follow(ctx, want)
}
