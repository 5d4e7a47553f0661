package fleet

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet/installed"
	"github.com/axle-cd/axle/hub/fleet/liveness"
	"github.com/axle-cd/axle/hub/fleet/reported"
	"github.com/axle-cd/axle/internal/clock"
)

// MemoryStore reads what Memory is made of.
type MemoryStore interface {
	// PollIntervals returns the intervals of registered clusters, of all when
	// ids is nil; 0 for a cluster whose agent has not reported it yet.
	PollIntervals(ctx context.Context, ids []string) (map[string]int64, error)
	// StatusSums returns the sums of clusters, of all when ids is nil.
	StatusSums(ctx context.Context, clusterIDs []string) (map[string]reported.Sum, error)
}

// Memory is what a replica keeps of clusters: when they polled, sums of what they
// reported, and how often their flags were told. It follows the feed and stores nothing.
// It is safe for concurrent use.
//
// Answering a poll or a metric reads no database; a change costs in proportion to the
// clusters that changed.
type Memory struct {
	store  MemoryStore
	clock  clock.Clock
	Polls  *liveness.Polls
	Hashes *reported.Clusters
	// FlagsTold are the changes of agents' flags that became events.
	FlagsTold installed.Told
}

// newMemory returns a Memory whose freshness starts Unknown. The interval is assumed for an
// agent until it reports its own.
func newMemory(store MemoryStore, c clock.Clock, interval time.Duration) *Memory {
	return &Memory{store: store, clock: c, Polls: liveness.New(clock.Micros(c.Now()), interval), Hashes: reported.New()}
}

// Seen records an authenticated poll of a cluster's agent, only in memory. The
// time may come from another replica.
func (m *Memory) Seen(clusterID string, at time.Time) { m.Polls.Seen(clusterID, at.UnixMicro()) }

// Freshness returns how fresh a cluster is and when it last polled, in
// microseconds; 0 when this replica has seen no poll.
func (m *Memory) Freshness(clusterID string) (liveness.Freshness, int64) {
	return m.Polls.Freshness(clusterID, clock.Micros(m.clock.Now()))
}

// StatusHash returns the hash over a cluster's stored statuses, from memory;
// see hub/fleet/reported. Empty when nothing is stored.
func (m *Memory) StatusHash(clusterID string) string { return m.Hashes.Hash(clusterID) }

// ServiceCounts returns the number of services by state, as their agents
// reported it; from memory.
func (m *Memory) ServiceCounts() map[reported.State]int { return m.Hashes.Services() }

// ClusterCounts returns the number of registered clusters by freshness; from
// memory.
func (m *Memory) ClusterCounts() map[liveness.Freshness]int {
	return m.Polls.Count(clock.Micros(m.clock.Now()))
}

// Rebuild loads the cached data of all clusters; see event.Subscriber.
func (m *Memory) Rebuild(ctx context.Context) error {
	sums, err := m.store.StatusSums(ctx, nil)
	if err != nil {
		return err
	}
	intervals, err := m.store.PollIntervals(ctx, nil)
	if err != nil {
		return err
	}
	m.Hashes.Load(sums)
	m.Polls.Load(intervals)
	return nil
}

// Apply reads the cached data again of clusters that changed or reported; see
// event.Subscriber.
func (m *Memory) Apply(ctx context.Context, rows []event.Row) error {
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
	sums, err := m.store.StatusSums(ctx, ids)
	if err != nil {
		return err
	}
	if len(changed) > 0 {
		intervals, err := m.store.PollIntervals(ctx, changed)
		if err != nil {
			return err
		}
		m.Polls.Set(changed, intervals)
	}
	m.Hashes.Set(ids, sums)
	return nil
}
