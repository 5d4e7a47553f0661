package hub

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
	// strangerBody bounds what somebody may send whom nobody knows yet, and
	// strangerTimeout how long it may take to arrive.
	strangerBody    = 64 << 10
	strangerTimeout = 10 * time.Second
	// strangersAtOnce bounds the bodies of strangers that are waited for, and
	// strangersOfOne those from one address; a large site registers its agents
	// from one.
	strangersAtOnce = 512
	strangersOfOne  = 256
)

// strangers counts the bodies that are waited for of callers whom nobody knows.
// With the bounds above that is 32 MiB of memory at most, and a crowd that
// sends nothing has to come back every 10 s.
type strangers struct {
	mu  sync.Mutex
	all int
	of  map[string]int
}

// enter takes a place until leave is called, which may be more than once; nil
// when there is none.
func (s *strangers) enter(remote string) (leave func()) {
	host := address.Host(remote)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= strangersAtOnce || s.of[host] >= strangersOfOne {
		return nil
	}
	if s.of == nil {
		s.of = map[string]int{}
	}
	s.all++
	s.of[host]++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.of[host]--; s.of[host] == 0 {
			delete(s.of, host)
		}
	})
}

// refuse says that there is no place, in the form that calls and pages read.
func (s *strangers) refuse(w http.ResponseWriter, r *http.Request) {
	routes.LeaveBody(w, r)
	err := errcode.New(errcode.Unavailable, "too many callers who are not logged in send something at once; try again in a second")
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(errcode.HTTPStatus(errcode.Unavailable))
	_ = json.NewEncoder(w).Encode(map[string]string{"code": "unavailable", "message": errcode.Message(err)})
}

// timedBody is a request's body that must arrive in time. Once it is here, the
// call may take as long as it likes: a connection whose deadline passes counts
// as gone, and its call as given up.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
	// arrived is called when nothing more is waited for; nil calls nothing.
	arrived func()
	ended   bool
}

func newTimedBody(w http.ResponseWriter, body io.ReadCloser, within time.Duration, arrived func()) *timedBody {
	b := &timedBody{ReadCloser: body, control: http.NewResponseController(w), arrived: arrived}
	b.limit(time.Now().Add(within))
	return b
}

// limit sets the deadline. A writer that knows none, as in a test without a
// listener, has nobody slow at its other end.
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
