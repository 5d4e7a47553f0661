package hub

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet"
)

// Follow is what a service's source goes through.
func (h *Hub) Follow(ctx context.Context, want fleet.SourceWant) (sourceID, repositoryID string, err error) {
	s := newSources(h)
	err = h.store.Write(ctx, func(ctx context.Context) error {
		if repositoryID, err = s.Bind(ctx, want); err != nil {
			return err
		}
		sourceID, err = s.Follow(ctx, want, repositoryID)
		return err
	})
	return sourceID, repositoryID, err
}
