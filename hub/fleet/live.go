package fleet

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet/liveness"
	"github.com/axle-cd/axle/hub/fleet/reported"
)

// live is what this replica keeps in memory of clusters: when they polled, and sums of
// what they reported.
type live struct {
	times
	store  LivenessStore
	polls  *liveness.Polls
	hashes *reported.Clusters
}

// Seen records an authenticated poll of a cluster's agent, only in memory. The
// time may come from another replica.
func (f *live) Seen(clusterID string, at time.Time) { f.polls.Seen(clusterID, at.UnixMicro()) }

// Freshness returns how fresh a cluster is and when it last polled, in
// microseconds; 0 when this replica has seen no poll.
func (f *live) Freshness(clusterID string) (Freshness, int64) {
	return f.polls.Freshness(clusterID, f.now())
}

// StatusHash returns the hash over a cluster's stored statuses, from memory;
// see hub/fleet/reported. Empty when nothing is stored.
func (f *live) StatusHash(clusterID string) string { return f.hashes.Hash(clusterID) }

// ServiceCounts returns the number of services by state, as their agents
// reported it; from memory.
func (f *live) ServiceCounts() map[reported.State]int { return f.hashes.Services() }

// ClusterCounts returns the number of registered clusters by freshness; from
// memory.
func (f *live) ClusterCounts() map[Freshness]int { return f.polls.Count(f.now()) }

// Rebuild loads the cached data of all clusters; see event.Subscriber.
func (f *live) Rebuild(ctx context.Context) error {
	sums, err := f.store.StatusSums(ctx, nil)
	if err != nil {
		return err
	}
	intervals, err := f.store.PollIntervals(ctx, nil)
	if err != nil {
		return err
	}
	f.hashes.Load(sums)
	f.polls.Load(intervals)
	return nil
}

// Apply reads the cached data again of clusters that changed or reported; see
// event.Subscriber.
func (f *live) Apply(ctx context.Context, rows []event.Row) error {
	clusters, reports := map[string]bool{}, map[string]bool{}
	for _, row := range rows {
		switch row.Kind {
		case event.KindCluster:
			clusters[row.Key], reports[row.Key] = true, true // a deleted cluster has no reports any more
		case event.KindReport:
			reports[row.Cluster] = true
		}
	}
	if len(reports) == 0 {
		return nil
	}
	ids, changed := slices.Sorted(maps.Keys(reports)), slices.Sorted(maps.Keys(clusters))
	sums, err := f.store.StatusSums(ctx, ids)
	if err != nil {
		return err
	}
	if len(changed) > 0 {
		intervals, err := f.store.PollIntervals(ctx, changed)
		if err != nil {
			return err
		}
		f.polls.Set(changed, intervals)
	}
	f.hashes.Set(ids, sums)
	return nil
}
