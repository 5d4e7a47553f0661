package hub

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"

	"github.com/axle-cd/axle/hub/tunnel/authproxy"
	"github.com/axle-cd/axle/internal/address"
)

const (
	// maxHeaderBytes is what an API server takes: kubectl exec puts a script into the
	// query, and a long selector is as long as its labels.
	maxHeaderBytes = 1 << 20
	// smallHead is all that anybody else sends, and far above it. What a connection sends
	// beyond it, before a request is complete, comes out of a share.
	smallHead = 16 << 10
	// headsOfAll and headsOfOne bound what unfinished heads take, and those of one address.
	headsOfAll = 64 << 20
	headsOfOne = 16 << 20
)

var errHeads = errors.New("too many long request heads are on their way from this address; the connection ends")

// requestHeads counts the bytes of requests that are not complete, of anybody. Its zero value is
// empty.
type requestHeads struct {
	mu  sync.Mutex
	all int
	of  map[string]int
}

func (h *requestHeads) take(host string, bytes int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all+bytes > headsOfAll || h.of[host]+bytes > headsOfOne {
		return false
	}
	if h.of == nil {
		h.of = map[string]int{}
	}
	h.all += bytes
	h.of[host] += bytes
	return true
}

func (h *requestHeads) give(host string, bytes int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all -= bytes
	if h.of[host] -= bytes; h.of[host] == 0 {
		delete(h.of, host)
	}
}

// headListener accepts connections whose heads are counted.
type headListener struct {
	net.Listener
	heads *requestHeads
}

// Accept implements net.Listener.
func (l headListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &headConn{Conn: c, heads: l.heads, host: address.Host(c.RemoteAddr().String()), head: true}, nil
}

// headConn counts what arrives between two requests.
type headConn struct {
	net.Conn
	heads *requestHeads
	host  string

	mu         sync.Mutex
	head       bool
	read, held int
}

// Read implements net.Conn.
func (c *headConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.head {
		return n, err
	}
	c.read += n
	if more := min(c.read-smallHead, maxHeaderBytes) - c.held; more > 0 {
		if !c.heads.take(c.host, more) {
			return 0, errHeads
		}
		c.held += more
	}
	return n, err
}

// Close implements net.Conn.
func (c *headConn) Close() error {
	c.expect(false)
	return c.Conn.Close()
}

// expect begins or ends counting. What was held is free again.
func (c *headConn) expect(head bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held > 0 {
		c.heads.give(c.host, c.held)
	}
	c.head, c.read, c.held = head, 0, 0
}

type headKey struct{}

// headOf returns the connection below TLS; nil for one that is not counted.
func headOf(c net.Conn) *headConn {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	counted, _ := c.(*headConn)
	return counted
}

// countHeads lets a server count the heads of its connections.
func countHeads(s *http.Server, next http.Handler) {
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, headKey{}, headOf(c))
	}
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if counted := headOf(c); counted != nil && (state == http.StateIdle || state == http.StateHijacked) {
			counted.expect(state == http.StateIdle)
		}
	}
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if counted, _ := r.Context().Value(headKey{}).(*headConn); counted != nil {
			counted.expect(false)
		}
		if !authproxy.Owns(r.URL.Path) && authproxy.HeadSize(r) > smallHead {
			w.Header().Set("Connection", "close")
			http.Error(w, "the request's line and headers are longer than 16 KiB", http.StatusRequestHeaderFieldsTooLarge)
			return
		}
		next.ServeHTTP(w, r)
	})
}
