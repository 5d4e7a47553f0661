// Package strangers bounds the bodies of requests before the caller is known: their
// size, how long they may take to arrive, and how many may arrive at once. It does
// not check who calls.
package strangers

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/routes"
)

const (
	// timeout is how long the body of an unknown caller may take to arrive.
	timeout = 10 * time.Second
	// atOnce bounds the unfinished bodies of unknown callers. A large site, which
	// registers its agents from one address, has a half.
	atOnce = 512
)

// Gate counts the unfinished bodies of unknown callers. With 64 KiB each they take at
// most 32 MiB of memory, and callers that send nothing are disconnected after 10 s.
type Gate struct{ places *pool.Places }

// New returns a Gate with a pool of its own.
func New(pools *pool.Set, name, of string) *Gate {
	return &Gate{pools.Places(pool.Spec{Name: name, Of: of, Size: atOnce, Retry: time.Second})}
}

// Serve passes a request of a caller on with a body of at most that many bytes, or rejects it if
// there is no slot.
func (g *Gate) Serve(w http.ResponseWriter, r *http.Request, from pool.Caller, bytes int64, next http.Handler) {
	if r.Body == nil || r.Body == http.NoBody {
		next.ServeHTTP(w, r)
		return
	}
	held, err := g.places.Take(from)
	if err != nil {
		refuse(w, r, err)
		return
	}
	defer held.Leave()
	r.Body = Bound(w, r.Body, bytes, timeout, held.Leave)
	next.ServeHTTP(w, r)
}

// refuse answers that there is no slot, in the error format of calls.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	routes.LeaveBody(w, r)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	errcode.SetRetryAfter(w.Header(), err)
	w.WriteHeader(errcode.HTTPStatus(errcode.Of(err)))
	_ = json.NewEncoder(w).Encode(map[string]string{"code": "resource_exhausted", "message": errcode.Message(err)})
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
