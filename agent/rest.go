//go:build !testbed

package agent

import "net/http"

// restRoute is of builds with the tag testbed, which tests start.
func restRoute(*http.ServeMux, *Agent) {}
