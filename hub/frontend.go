package hub

import (
	"net/http"
	"strings"

	"github.com/axle-cd/axle/internal/routes"
	"github.com/axle-cd/axle/web"
)

// consoleRoute gives the console every path that no route before it owns, and
// returns the kind of a request, for traces: without variable parts such as a
// digest, a webhook's ID or the name of a cluster.
func consoleRoute(mux *routes.Mux, origin string) (kind func(*http.Request) string) {
	// Metrics may have a listener of their own.
	owned := map[string]bool{"metrics": true}
	for _, pattern := range mux.Patterns() {
		owned[web.Segment(pattern[strings.IndexByte(pattern, '/'):])] = true
	}
	mux.Handle("/", web.Handler(origin, owned))
	return func(r *http.Request) string {
		parts := strings.SplitN(strings.TrimPrefix(r.URL.Path, "/"), "/", 4)
		switch {
		case parts[0] == "healthz" || parts[0] == "readyz" || parts[0] == "metrics":
			return ""
		case !owned[parts[0]]:
			return r.Method + " /"
		}
		return r.Method + " /" + strings.Join(parts[:min(3, len(parts))], "/")
	}
}
