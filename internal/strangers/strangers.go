// Package strangers bounds the bodies of requests before the caller is known: their
// size, how long they may take to arrive, and how many may arrive at once. It does
// not check who calls.
package strangers

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/address"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/routes"
)

const (
	// timeout is how long the body of an unknown caller may take to arrive.
	timeout = 10 * time.Second
	// atOnce bounds the unfinished bodies of unknown callers, and ofOne those from
	// one address; a large site registers its agents from one address.
	atOnce = 512
	ofOne  = 256
)

// Gate counts the unfinished bodies of unknown callers. With 64 KiB each they take at
// most 32 MiB of memory, and callers that send nothing are disconnected after 10 s.
// Its zero value is empty.
type Gate struct {
	mu  sync.Mutex
	all int
	of  map[string]int
}

// Serve passes a request on with a body of at most that many bytes, or rejects it if
// there is no slot.
func (g *Gate) Serve(w http.ResponseWriter, r *http.Request, bytes int64, next http.Handler) {
	if r.Body == nil || r.Body == http.NoBody {
		next.ServeHTTP(w, r)
		return
	}
	leave := g.enter(r.RemoteAddr)
	if leave == nil {
		refuse(w, r)
		return
	}
	defer leave()
	r.Body = Bound(w, r.Body, bytes, timeout, leave)
	next.ServeHTTP(w, r)
}

// enter takes a slot until leave is called, which may happen more than once; nil if
// there is none.
func (g *Gate) enter(remote string) (leave func()) {
	host := address.Host(remote)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all >= atOnce || g.of[host] >= ofOne {
		return nil
	}
	if g.of == nil {
		g.of = map[string]int{}
	}
	g.all++
	g.of[host]++
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.all--
		if g.of[host]--; g.of[host] == 0 {
			delete(g.of, host)
		}
	})
}

// refuse answers that there is no slot, in the error format of calls.
func refuse(w http.ResponseWriter, r *http.Request) {
	routes.LeaveBody(w, r)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(errcode.HTTPStatus(errcode.Unavailable))
	_ = json.NewEncoder(w).Encode(map[string]string{
		"code": "unavailable", "message": "too many requests of callers who are not logged in; try again in a second",
	})
}

// Bound returns a body of at most that many bytes that must arrive within a time. If
// arrived is not nil, it is called when nothing more is expected.
func Bound(w http.ResponseWriter, body io.ReadCloser, bytes int64, within time.Duration, arrived func()) io.ReadCloser {
	b := &timedBody{ReadCloser: body, control: http.NewResponseController(w), arrived: arrived}
	b.limit(time.Now().Add(within))
	return http.MaxBytesReader(w, b, bytes)
}

// timedBody is a request's body that must arrive in time. Once it has arrived, the
// call may take any time: otherwise the connection would count as gone after the
// deadline, and its call as cancelled.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
	arrived func()
	ended   bool
}

// limit sets the deadline. A writer without deadlines, as in a test without a
// listener, has no slow peer.
func (b *timedBody) limit(at time.Time) { _ = b.control.SetReadDeadline(at) }

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !b.ended {
		b.ended = true
		if errors.Is(err, io.EOF) {
			b.limit(time.Time{})
		}
		if b.arrived != nil {
			b.arrived()
		}
	}
	return n, err
}
