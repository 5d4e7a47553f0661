package hub

import (
	"net/http"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/agentapi"
	"github.com/axle-cd/axle/hub/console"
	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/hub/tunnel"
	"github.com/axle-cd/axle/hub/tunnel/authproxy"
	"github.com/axle-cd/axle/hub/webhook"
	"github.com/axle-cd/axle/internal/strangers"
)

const (
	// maxBody bounds what a person's call or a delivery may send; each edge has
	// a bound of its own below it.
	maxBody = 32 << 20
	// bodyTimeout is how long it may take to arrive.
	bodyTimeout = 60 * time.Second
	// strangerBody bounds what somebody may send whom nobody knows yet.
	strangerBody = 64 << 10
	// maxStreams bounds the requests of one HTTP/2 connection at a time. Those
	// of an agent are few; a person's kubectl has a watch for each kind.
	maxStreams = 250
	// hstsHeader keeps a browser that came by TLS on it for a year.
	hstsHeader = "max-age=31536000; includeSubDomains"
	// noContent is the policy of answers that are no pages: nothing in them is
	// shown, run or framed. Pages set their own.
	noContent = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)

// exposed sets what protects a browser's user on every answer that one may
// get, and bounds what strangers may send and for how long. Agents and
// replicas are no browsers, and their edges bound their own bodies; a
// cluster's API passes through as long as the caller likes.
func (h *Hub) exposed(next http.Handler) http.Handler {
	tls := h.config.usesTLS() || strings.HasPrefix(h.config.ExternalURL, "https://")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		if agentapi.Open(path) {
			h.strangers.Serve(w, r, strangerBody, next)
			return
		}
		if path == tunnel.Path || agentapi.Owns(path) || strings.HasPrefix(path, peer.Path) || strings.HasPrefix(path, "/axle.peer.") {
			next.ServeHTTP(w, r)
			return
		}
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Content-Security-Policy", noContent)
		if tls {
			header.Set("Strict-Transport-Security", hstsHeader)
		}
		switch {
		case authproxy.Owns(path), r.Body == nil, r.Body == http.NoBody:
		case strings.HasPrefix(path, "/axle.") && !console.Open(path):
			// The edge of people looks who calls before it reads.
			r.Body = strangers.Bound(w, r.Body, maxBody, bodyTimeout, nil)
		case strings.HasPrefix(path, webhook.Prefix):
			// Proven by a signature of the body, which may be large.
			h.strangers.Serve(w, r, maxBody, next)
			return
		default:
			h.strangers.Serve(w, r, strangerBody, next)
			return
		}
		next.ServeHTTP(w, r)
	})
}
