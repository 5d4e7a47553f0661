package hub

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/agentapi"
	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/hub/tunnel"
	"github.com/axle-cd/axle/hub/tunnel/authproxy"
)

const (
	// maxBody bounds what a person's call, a form or a delivery may send; each
	// edge has a bound of its own below it.
	maxBody = 32 << 20
	// bodyTimeout is how long it may take to arrive.
	bodyTimeout = 60 * time.Second
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
		if !authproxy.Owns(path) && r.Body != nil && r.Body != http.NoBody {
			r.Body = http.MaxBytesReader(w, newTimedBody(w, r.Body), maxBody)
		}
		next.ServeHTTP(w, r)
	})
}

// timedBody is a request's body that must arrive in time. Once it is here, the
// call may take as long as it likes: a connection whose deadline passes counts
// as gone, and its call as given up.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
	arrived bool
}

func newTimedBody(w http.ResponseWriter, body io.ReadCloser) *timedBody {
	b := &timedBody{ReadCloser: body, control: http.NewResponseController(w)}
	b.limit(time.Now().Add(bodyTimeout))
	return b
}

// limit sets the deadline. A writer that knows none, as in a test without a
// listener, has nobody slow at its other end.
func (b *timedBody) limit(at time.Time) { _ = b.control.SetReadDeadline(at) }

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) && !b.arrived {
		b.arrived = true
		b.limit(time.Time{})
	}
	return n, err
}
