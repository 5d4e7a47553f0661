package hub

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/tunnel/authproxy"
	"github.com/axle-cd/axle/internal/pool"
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

// newRequestHeads returns the pool of bytes of requests that are not complete, of anybody.
func newRequestHeads(pools *pool.Set) *pool.Places {
	return pools.Places(pool.Spec{Name: "strangers_heads", Of: "bytes of request heads on their way", Size: headsOfAll, Share: headsOfOne, Retry: time.Second})
}

// headListener accepts connections whose heads are counted.
type headListener struct {
	net.Listener
	heads *pool.Places
}

// Accept implements net.Listener.
func (l headListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &headConn{Conn: c, heads: l.heads, from: pool.Stranger(c.RemoteAddr().String()), head: true}, nil
}

// headConn counts what arrives between two requests.
type headConn struct {
	net.Conn
	heads *pool.Places
	from  pool.Caller

	mu         sync.Mutex
	head       bool
	read, kept int
	held       []*pool.Held
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
	if more := min(c.read-smallHead, maxHeaderBytes) - c.kept; more > 0 {
		held, err := c.heads.TakeMany(c.from, more)
		if err != nil {
			return 0, err
		}
		c.held, c.kept = append(c.held, held), c.kept+more
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
	for _, held := range c.held {
		held.Leave()
	}
	c.head, c.read, c.kept, c.held = head, 0, 0, nil
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
		return context.WithValue(pool.From(ctx, c.RemoteAddr().String()), headKey{}, headOf(c))
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
		// A server that still knows its own body behind a refusal lets the client read the
		// refusal before it resets the connection. What is inside bounds bodies by putting
		// its own into the request, so it gets a copy.
		next.ServeHTTP(w, r.WithContext(r.Context()))
	})
}
