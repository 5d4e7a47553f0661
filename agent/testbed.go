//go:build testbed

package agent

import (
	"encoding/json"
	"net/http"
)

// restRoute lets test/world ask whether the agent is at rest.
func restRoute(mux *http.ServeMux, a *Agent) {
	mux.HandleFunc("GET /rest", func(w http.ResponseWriter, _ *http.Request) {
		answer := struct {
			Polls int
			Busy  string
		}{Busy: "it starts"}
		if loop := a.loop.Load(); loop != nil {
			answer.Polls, answer.Busy = loop.Rest()
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
}
