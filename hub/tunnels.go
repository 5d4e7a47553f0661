package hub

import (
	"net/http"

	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/hub/tunnel"
	"github.com/axle-cd/axle/internal/routes"
)

// newTunnels creates the agents' tunnels of this replica.
func (h *Hub) newTunnels() (*tunnel.Tunnels, error) {
	c := tunnel.Config{
		Identity: h.callers.Identity, Desired: h.desired, Feed: h.feed, Replica: h.replica,
		PeerKey: h.replicas.key, PeerClock: h.replicas.members,
		Clock: h.config.Clock, Log: h.log, Registerer: h.registry, Pools: h.pools, Project: h.projectOf,
	}
	if !h.replicas.alone {
		c.Replicas = h.replicas.members
	}
	return tunnel.New(c)
}

// projectOf returns the project of a cluster as the feed has last told of it.
func (h *Hub) projectOf(clusterID string) string {
	c, _ := h.index.Cluster(clusterID)
	return c.ProjectID
}

// tunnelRoutes adds the routes for other replicas' tunnel calls.
func (h *Hub) tunnelRoutes(mux routes.Adder) {
	if h.replicas.alone {
		return
	}
	h.tunnels.PeerRoutes(mux, func(next http.Handler) http.Handler {
		return peer.Verify(h.replicas.key, h.replicas.members, next)
	})
}
