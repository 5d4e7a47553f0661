package fleet

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet/liveness"
	"github.com/axle-cd/axle/hub/fleet/reported"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/internal/clock"
)

// Config holds a Fleet's dependencies. All but PollInterval, Clock and Log are
// required.
type Config struct {
	Store   Store
	Moves   MoveStore
	Writer  Writer
	Sources Sources
	Sealer  Sealer
	// Configuration stores the values of services.
	Configuration Configuration
	// DigestKey is the hub's key for spec digests, at least 32 bytes, equal on
	// every replica.
	DigestKey []byte
	// PollInterval is assumed for an agent until it reports its own; zero is 2
	// min.
	PollInterval time.Duration
	Clock        clock.Clock
	Log          *slog.Logger
}

// Fleet manages projects, clusters and services.
type Fleet struct {
	store   Store
	moves   MoveStore
	writer  Writer
	sources Sources
	sealer  Sealer

	configuration Configuration

	key      []byte
	interval time.Duration
	clock    clock.Clock
	log      *slog.Logger

	liveness *liveness.Polls
	hashes   *reported.Clusters
}

// New returns a Fleet whose freshness starts Unknown.
func New(c Config) (*Fleet, error) {
	if c.Store == nil || c.Moves == nil || c.Writer == nil || c.Sources == nil || c.Sealer == nil || c.Configuration == nil || len(c.DigestKey) < 32 {
		return nil, errors.New("fleet: a store, a writer, sources, a sealer, a configuration and a digest key of 32 bytes are needed")
	}
	if c.PollInterval == 0 {
		c.PollInterval = 2 * time.Minute
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	f := &Fleet{
		store: c.Store, moves: c.Moves, writer: c.Writer, sources: c.Sources, sealer: c.Sealer, configuration: c.Configuration,
		key: c.DigestKey, interval: c.PollInterval, clock: c.Clock, log: c.Log,
	}
	f.liveness, f.hashes = liveness.New(f.now(), f.interval), reported.New()
	return f, nil
}

var (
	_ event.Subscriber  = (*Fleet)(nil)
	_ agentkey.Clusters = (*Fleet)(nil)
)

// Seen records an authenticated poll of a cluster's agent, only in memory. The
// time may come from another replica.
func (f *Fleet) Seen(clusterID string, at time.Time) { f.liveness.Seen(clusterID, at.UnixMicro()) }

// Freshness returns how fresh a cluster is and when it last polled, in
// microseconds; 0 when this replica has seen no poll.
func (f *Fleet) Freshness(clusterID string) (Freshness, int64) {
	return f.liveness.Freshness(clusterID, f.now())
}

// StatusHash returns the hash over a cluster's stored statuses, from memory;
// see hub/fleet/reported. Empty when nothing is stored.
func (f *Fleet) StatusHash(clusterID string) string { return f.hashes.Hash(clusterID) }

// ServiceCounts returns the number of services by state, as their agents
// reported it; from memory.
func (f *Fleet) ServiceCounts() map[reported.State]int { return f.hashes.Services() }

// ClusterCounts returns the number of registered clusters by freshness; from
// memory.
func (f *Fleet) ClusterCounts() map[Freshness]int { return f.liveness.Count(f.now()) }

// Rebuild loads the cached data of all clusters; see event.Subscriber.
func (f *Fleet) Rebuild(ctx context.Context) error {
	sums, err := f.store.StatusSums(ctx, nil)
	if err != nil {
		return err
	}
	intervals, err := f.store.PollIntervals(ctx, nil)
	if err != nil {
		return err
	}
	f.hashes.Load(sums)
	f.liveness.Load(intervals)
	return nil
}

// Apply reads the cached data again of clusters that changed or reported; see
// event.Subscriber.
func (f *Fleet) Apply(ctx context.Context, rows []event.Row) error {
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
		f.liveness.Set(changed, intervals)
	}
	f.hashes.Set(ids, sums)
	return nil
}

func (f *Fleet) now() int64 { return clock.Micros(f.clock.Now()) }
