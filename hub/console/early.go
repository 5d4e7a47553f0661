package console

import (
	"context"
	"net/http"

	"connectrpc.com/connect"

	"github.com/axle-cd/axle/hub/console/liveapi"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/address"
	"github.com/axle-cd/axle/internal/routes"
)

// maxOpen limits one message of a call that needs no identity, in bytes, also
// after decompression.
const maxOpen = 64 << 10

// Open reports whether a path is a call that needs no identity.
func Open(path string) bool { return access[path] == open }

// early authenticates the caller before the body is read: interceptors of unary
// calls run after the message is in memory. admission checks what the caller
// may do, once the object of the call is known.
type early struct {
	*Server
	records *recorder
	// known and open are the same calls with bodies of different sizes.
	known, open http.Handler
	refusals    *connect.ErrorWriter
}

// ServeHTTP implements http.Handler.
func (e early) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	procedure := r.URL.Path
	switch action, listed := access[procedure]; {
	case action == open:
		e.open.ServeHTTP(w, r)
		return
	case !listed:
		// The call does not exist: a newer client learns that from the answer
		// of routes.
		e.known.ServeHTTP(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	p, err := e.recognise(ctx, r.Header)
	if err != nil {
		err = e.outward(ctx, procedure, err)
		e.records.stranger(ctx, procedure, r.RemoteAddr, err)
		routes.LeaveBody(w, r)
		// The caller may be gone; the error can be ignored.
		_ = e.refusals.Write(w, r, err)
		return
	}
	// The call has its own deadline, which may be longer.
	e.known.ServeHTTP(w, r.WithContext(liveapi.WithWriter(identity.WithPrincipal(r.Context(), p), w)))
}

// stranger records a call that was refused before it was read.
func (s *recorder) stranger(ctx context.Context, procedure, remote string, err error) {
	if s.config.Audit == nil || !isRecorded(procedure) {
		return
	}
	s.record(ctx, &recorded{known: audit.Record{Action: procedure, Source: address.Host(remote)}}, nil, nil, err)
}

// handle creates the handlers of a service twice: for authenticated callers,
// and for its calls that need no identity.
func handle[S any](s *Server, records *recorder, make func(S, ...connect.HandlerOption) (string, http.Handler), service S) (string, http.Handler) {
	bounded := func(bytes int) http.Handler {
		_, h := make(service, connect.WithInterceptors(records, admission{s}, connect.UnaryInterceptorFunc(records.look)), connect.WithReadMaxBytes(bytes))
		return h
	}
	path, _ := make(service)
	return path, early{Server: s, records: records, known: bounded(maxRequest), open: bounded(maxOpen), refusals: connect.NewErrorWriter()}
}
