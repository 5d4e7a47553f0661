package hub

import (
	"net/http"
)

// newConsole makes the edge that answers people: their API, and the console
// itself.
func newConsole(*Hub) (http.Handler, error) {
	return http.NotFoundHandler(), nil
}
