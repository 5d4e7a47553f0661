package hub

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/axle-cd/axle/hub/console"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/internal/buildinfo"
)

// newConsole makes the edge that answers people: their API, and later the
// console itself.
func newConsole(h *Hub) (http.Handler, error) {
	authority := ""
	if path := h.CAFile(); path != "" {
		pem, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read the certificate authority: %w", err)
		}
		authority = string(pem)
	}
	server, err := console.New(console.Config{
		Identity: h.identity, Fleet: h.fleet, Cache: h.cache, Feed: h.feed, Lives: h.store,
		Events: func(ctx context.Context, cluster, service string, after int64, limit int) ([]event.Entry, error) {
			return h.store.Events(ctx, store.EventFilter{Cluster: cluster, Service: service, After: after, Limit: limit})
		},
		Replicas: h.replicaList, ServicesByRepository: h.store.ServicesByRepository, Owners: h.owners,
		ExternalURL: h.URL(), CAPEM: authority, Database: h.store.Database(), Version: buildinfo.Version, Clock: h.config.Clock, Log: h.log,
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	server.Register(mux)
	return mux, nil
}

// replicaList is the hub's processes as people see them.
func (h *Hub) replicaList(ctx context.Context) ([]console.Replica, error) {
	if h.replicas.alone {
		return []console.Replica{{Name: h.replica, URL: h.URL(), SeenAt: h.config.Clock.Now()}}, nil
	}
	var list []console.Replica
	for _, r := range h.replicas.members.Alive() {
		list = append(list, console.Replica{Name: r.Name, URL: r.URL, SeenAt: r.SeenAt, Draining: !r.DrainingUntil.IsZero()})
	}
	return list, nil
}

// owners names the replica that fetches each repository. A lone replica owns
// all that it follows; among several the lease rows know, which a later part
// shows.
func (h *Hub) owners(ctx context.Context) (map[string]string, error) {
	if !h.replicas.alone {
		return nil, nil
	}
	all, err := h.cache.Repositories(ctx)
	if err != nil {
		return nil, err
	}
	owners := map[string]string{}
	for _, r := range all {
		owners[r.ID] = h.replica
	}
	return owners, nil
}
