//go:build !testbed

package hub

import "github.com/axle-cd/axle/internal/routes"

// restRoute is of builds with the tag testbed, which tests start.
func (h *Hub) restRoute(routes.Adder) {}
