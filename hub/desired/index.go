package desired

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// Fleet is the source of entries.
type Fleet interface {
	// LoadAll streams every service, including those being deleted.
	LoadAll(ctx context.Context, fn func(fleet.Row) error) error
	// LoadRows returns those of the services that exist.
	LoadRows(ctx context.Context, ids []string) ([]fleet.Row, error)
	// LoadClusters streams every cluster.
	LoadClusters(ctx context.Context, fn func(fleet.ClusterRow) error) error
	// LoadCluster returns one cluster, or NotFound.
	LoadCluster(ctx context.Context, id string) (fleet.ClusterRow, error)
}

// Feed returns the position of this replica.
type Feed interface {
	// Position is what every subscriber has applied.
	Position() event.Position
	// Incarnation is the incarnation of the database that is followed.
	Incarnation() event.Incarnation
}

// Config configures an Index. Fleet and Feed are required.
type Config struct {
	Fleet Fleet
	Feed  Feed
	// Gate may hold a row back: it returns what the cluster should run for now,
	// the row itself or one with an earlier digest. It is called whenever a row
	// is read, without locks. Nil holds nothing back. It is used for
	// dependencies on services of other clusters.
	Gate func(fleet.Row) fleet.Row
	// Learnt says what may be delivered after a restore or a fail-over. Nil
	// delivers everything.
	Learnt Learnt
	Log    *slog.Logger
}

// Index holds what every cluster should run. It is an event.Subscriber.
type Index struct {
	fleet  Fleet
	feed   Feed
	gate   func(fleet.Row) fleet.Row
	learnt Learnt
	log    *slog.Logger

	mu sync.RWMutex
	// table is nil until the first Rebuild.
	table *table
}

var _ event.Subscriber = (*Index)(nil)

// New returns an Index that answers nothing before Rebuild.
func New(c Config) (*Index, error) {
	if c.Fleet == nil || c.Feed == nil {
		return nil, errors.New("desired: an index needs a fleet and a feed")
	}
	if c.Gate == nil {
		c.Gate = func(r fleet.Row) fleet.Row { return r }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Index{fleet: c.Fleet, feed: c.Feed, gate: c.Gate, learnt: c.Learnt, log: c.Log}, nil
}

// Rebuild loads everything again, while the old table still answers.
func (x *Index) Rebuild(ctx context.Context) error {
	start := time.Now()
	t := newTable()
	if err := x.fleet.LoadClusters(ctx, func(r fleet.ClusterRow) error {
		t.putCluster(r)
		return nil
	}); err != nil {
		return fmt.Errorf("load clusters: %w", err)
	}
	if err := x.former(ctx, t, ""); err != nil {
		return err
	}
	l := &loader{x: x, t: t}
	if err := x.fleet.LoadAll(ctx, func(r fleet.Row) error { return l.add(ctx, r) }); err != nil {
		return fmt.Errorf("load services: %w", err)
	}
	if err := l.flush(ctx); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.table != nil {
		t.keepHistory(x.table)
	}
	x.table = t
	x.log.Info("desired lists are loaded", logkey.Count, len(t.services), logkey.Duration, time.Since(start))
	return nil
}

// Apply reads the entries again that the rows name.
func (x *Index) Apply(ctx context.Context, rows []event.Row) error {
	services, clusters := map[string]bool{}, map[string]bool{}
	for _, r := range rows {
		switch r.Kind {
		case event.KindService:
			services[r.Key] = true
		case event.KindCluster:
			clusters[r.Key] = true
		default:
			if err := x.waiting(ctx, r, services); err != nil {
				return err
			}
		}
	}
	if len(services)+len(clusters) == 0 {
		return nil
	}
	if err := x.applyClusters(ctx, slices.Sorted(maps.Keys(clusters))); err != nil {
		return err
	}
	return x.applyServices(ctx, slices.Sorted(maps.Keys(services)))
}

func (x *Index) applyClusters(ctx context.Context, ids []string) error {
	for _, id := range ids {
		row, err := x.fleet.LoadCluster(ctx, id)
		gone := errcode.Is(err, errcode.NotFound)
		if err != nil && !gone {
			return fmt.Errorf("load cluster %s: %w", id, err)
		}
		x.mu.Lock()
		if gone {
			x.table.dropCluster(id)
		} else {
			x.table.putCluster(row)
		}
		x.mu.Unlock()
		if err := x.former(ctx, x.table, id); err != nil {
			return err
		}
	}
	return nil
}

func (x *Index) applyServices(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	rows, err := x.fleet.LoadRows(ctx, ids)
	if err != nil {
		return fmt.Errorf("load services: %w", err)
	}
	gone := map[string]bool{}
	for _, id := range ids {
		gone[id] = true
	}
	for i, r := range rows {
		delete(gone, r.ID)
		rows[i] = x.gate(r)
	}
	waits, err := x.waits(ctx, rows)
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range rows {
		x.put(x.table, r, waits[r.ID])
	}
	for id := range gone {
		x.table.drop(id)
	}
	return nil
}

// put stores a row. When this version cannot read it, the service keeps its
// previous entry, or is left out of the list, which an agent treats as "hold".
// It must not prevent answers for all other services.
func (x *Index) put(t *table, r fleet.Row, wait Wait) {
	if err := t.put(r, wait); err != nil {
		x.log.Error("a service cannot be put into its list", logkey.Service, r.ID, logkey.Cluster, r.ClusterID, logkey.Error, err)
	}
}

var errLoading = errcode.New(errcode.Unavailable, "the hub is loading what clusters should run; try again in a second").After(time.Second)

// Ready returns nil once lists can be sent.
func (x *Index) Ready() error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.table == nil {
		return errLoading
	}
	return nil
}

// Size returns how many clusters and services are known.
func (x *Index) Size() (clusters, services int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.table == nil {
		return 0, 0
	}
	return len(x.table.clusters), len(x.table.services)
}
