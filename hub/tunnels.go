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
		Clock: h.config.Clock, Log: h.log, Registerer: h.registry,
	}
	if !h.replicas.alone {
		c.Replicas = h.replicas.members
	}
	return tunnel.New(c)
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
