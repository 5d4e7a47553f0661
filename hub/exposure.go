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
	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/strangers"
)

const (
	// maxBody limits a person's call or a delivery; each edge has its own lower
	// limit.
	maxBody = 32 << 20
	// bodyTimeout is how long a body may take to arrive.
	bodyTimeout = 60 * time.Second
	// strangerBody limits the body of an unauthenticated request.
	strangerBody = 64 << 10
	// maxStreams limits the concurrent requests of one HTTP/2 connection. An
	// agent has few; a person's kubectl has a watch for each kind.
	maxStreams = 250
	// hstsHeader makes a browser that came by TLS use TLS for a year.
	hstsHeader = "max-age=31536000; includeSubDomains"
	// noContent is the policy of answers that are not pages: a browser must
	// show, run and frame nothing of them. Pages set their own.
	noContent = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)

// exposed sets the headers that protect a browser's user on every answer that
// one may get, and limits the bodies of unauthenticated requests. Agents and
// replicas are not browsers, and their edges limit their own bodies; a
// cluster's API passes without a time limit.
func (h *Hub) exposed(next http.Handler) http.Handler {
	tls := h.config.usesTLS() || strings.HasPrefix(h.config.ExternalURL, "https://")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		stranger := func(bytes int64) { h.strangers.Serve(w, r, pool.Stranger(r.RemoteAddr), bytes, next) }
		if agentapi.Open(path) {
			stranger(strangerBody)
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
			// The console authenticates the caller before it reads.
			r.Body = strangers.Bound(w, r.Body, maxBody, bodyTimeout, nil)
		case strings.HasPrefix(path, webhook.Prefix):
			// A signature of the body authenticates it, which may be large.
			if id, known := h.hooks.Known(path); known {
				h.deliveries.Serve(w, r, pool.Caller{Name: id}, maxBody, next)
			} else {
				stranger(maxBody)
			}
			return
		default:
			stranger(strangerBody)
			return
		}
		next.ServeHTTP(w, r)
	})
}
