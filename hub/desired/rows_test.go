package desired_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/errcode"
)

// rows is a fleet and a feed in memory.
type rows struct {
	mu       sync.Mutex
	services map[string]fleet.Row
	clusters map[string]fleet.ClusterRow
	at       event.Position
	life     event.Incarnation
}

func newRows() *rows {
	return &rows{
		services: map[string]fleet.Row{}, clusters: map[string]fleet.ClusterRow{},
		at: event.Position{Incarnation: "a", Sequence: 1}, life: event.Incarnation{ID: "a", Confirmed: true},
	}
}

func (r *rows) LoadAll(_ context.Context, fn func(fleet.Row) error) error {
	for _, s := range r.services {
		if err := fn(s); err != nil {
			return err
		}
	}
	return nil
}

func (r *rows) LoadRows(_ context.Context, ids []string) ([]fleet.Row, error) {
	var found []fleet.Row
	for _, id := range ids {
		if s, ok := r.services[id]; ok {
			found = append(found, s)
		}
	}
	return found, nil
}

func (r *rows) LoadClusters(_ context.Context, fn func(fleet.ClusterRow) error) error {
	for _, c := range r.clusters {
		if err := fn(c); err != nil {
			return err
		}
	}
	return nil
}

func (r *rows) LoadCluster(_ context.Context, id string) (fleet.ClusterRow, error) {
	if c, ok := r.clusters[id]; ok {
		return c, nil
	}
	return fleet.ClusterRow{}, errcode.New(errcode.NotFound, "no cluster %s", id)
}

func (r *rows) Position() event.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}

func (r *rows) Incarnation() event.Incarnation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.life
}

func digestOf(n int) string { return fmt.Sprintf("axle1:%064x", n) }
func specOf(n int) string   { return fmt.Sprintf("s1:%064x", n) }

func service(cluster, id string, n int) fleet.Row {
	return fleet.Row{ID: id, ClusterID: cluster, Name: "web-" + id, Namespace: "apps", Digest: digestOf(n), SpecDigest: specOf(n), TarballBytes: 10}
}

// fill adds clusters with ten services each.
func fill(r *rows, clusters int) {
	for c := range clusters {
		id := fmt.Sprintf("cls_%026d", c)
		r.clusters[id] = fleet.ClusterRow{ID: id, Name: fmt.Sprintf("edge-%d", c)}
		for s := range 10 {
			row := service(id, fmt.Sprintf("svc_%026d", c*10+s), s)
			r.services[row.ID] = row
		}
	}
}
