//go:build testbed

package hub

import (
	"net/http"

	"github.com/axle-cd/axle/internal/routes"
)

// restRoute lets test/world wait until this hub's indexes have everything that was
// committed.
func (h *Hub) restRoute(mux routes.Adder) {
	mux.Handle("GET /rest", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, err := h.store.Position(r.Context())
		if err == nil {
			err = h.feed.WaitFor(r.Context(), at)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	}))
}
