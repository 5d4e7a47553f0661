package fleet

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/event"
)

// HealStore remembers which heals became events.
type HealStore interface {
	// HealsTaken returns the number of the last recorded heal of a cluster's
	// boot, and 0 for another boot.
	HealsTaken(ctx context.Context, clusterID, bootID string) (int64, error)
	SetHealsTaken(ctx context.Context, clusterID, bootID string, number int64) error
}

// healed records an event for each service with new heals. A report whose
// answer was lost is sent again with the same numbers, and those are skipped.
func (r *reporting) healed(ctx context.Context) error {
	if len(r.batch.Heals) == 0 {
		return nil
	}
	taken, err := r.store.HealsTaken(ctx, r.cluster.ID, r.batch.BootID)
	if err != nil {
		return err
	}
	of, last := newHeals(r.batch.Heals, taken)
	if last == taken {
		return nil
	}
	rows, err := r.store.RowsByID(ctx, slices.Sorted(maps.Keys(of)))
	if err != nil {
		return err
	}
	slices.SortFunc(rows, func(a, b Row) int { return strings.Compare(a.ID, b.ID) })
	for _, row := range rows {
		if row.ClusterID != r.cluster.ID {
			continue // a service of another cluster: this agent may not report it
		}
		all := of[row.ID]
		err := event.Record(ctx, event.Entry{
			At:   min(max(0, all[len(all)-1].At), r.reports.now()),
			Kind: "service.healed", Object: "service " + Ref{r.cluster.Name, row.Name}.String(), By: "agent " + r.cluster.Name,
			Message: healSentence(all), Cluster: row.ClusterID, Service: row.ID,
		})
		if err != nil {
			return err
		}
	}
	return r.store.SetHealsTaken(ctx, r.cluster.ID, r.batch.BootID, last)
}
