package console

import (
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/console/liveapi"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/address"
	"github.com/axle-cd/axle/internal/boundedcall"
	"github.com/axle-cd/axle/internal/routes"
)

// maxOpen limits one message of a call that needs no identity, and of callers who lack
// the right to the call, in bytes, also after decompression.
const maxOpen = 64 << 10

const (
	// callsAtOnce are the calls that one replica answers at once, without streams, which
	// have pools of their own; a tenth is for administrators.
	callsAtOnce = 2000
	// answerWithin bounds a call with its answer: whoever does not read one leaves its
	// place then.
	answerWithin = fetchTimeout + 2*time.Minute
)

// streams are the calls whose answers go on for as long as the caller wants.
var streams = map[string]bool{
	hubv1connect.FleetWatchProcedure: true, hubv1connect.ClusterAPIWatchObjectsProcedure: true, hubv1connect.ClusterAPIReadLogsProcedure: true, hubv1connect.ClusterAPISearchLogsProcedure: true,
}

// Open reports whether a path is a call that needs no identity.
func Open(path string) bool { return access[path] == open }

// early authenticates the caller before the body is read, and checks what does not
// depend on the object of the call: interceptors of unary calls run after the message
// is in memory. admission checks the rest, once the object is known.
type early struct {
	*Server
	records *recorder
	// known and small are the same calls with bodies of different sizes.
	known, small http.Handler
	refusals     *connect.ErrorWriter
}

// ServeHTTP implements http.Handler.
func (e early) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	procedure := r.URL.Path
	switch action, listed := access[procedure]; {
	case action == open:
		e.small.ServeHTTP(w, r)
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
		e.refuse(ctx, w, r, p, err)
		return
	}
	if !streams[procedure] {
		held, err := e.calls.Take(p.Sharing())
		if err != nil {
			e.refuse(ctx, w, r, p, err)
			return
		}
		defer held.Leave()
		// Writers without deadlines (in tests) do not need one.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerWithin))
	}
	next := e.known
	if err := e.withoutObject(ctx, p, procedure); err != nil || ofSelf(access[procedure]) {
		if err != nil && !fits(r) {
			e.refuse(ctx, w, r, p, err)
			return
		}
		// Its record in the audit log names the object.
		r.Body = http.MaxBytesReader(w, r.Body, maxOpen)
		next = e.small
	}
	// The call has its own deadline, which may be longer.
	next.ServeHTTP(w, r.WithContext(liveapi.WithWriter(identity.WithPrincipal(r.Context(), p), w)))
}

// ofSelf reports whether an action needs no right, so that every account may do it.
func ofSelf(action identity.Action) bool {
	return action == identity.ActionSelf || action == identity.ActionSelfChange
}

// fits reports whether a body is as small as those of strangers, as it is. One of unknown
// length is cut off there.
func fits(r *http.Request) bool {
	packed := r.Header.Get("Content-Encoding")
	return r.ContentLength <= maxOpen && (packed == "" || packed == "identity")
}

// refuse answers without reading the body.
func (e early) refuse(ctx context.Context, w http.ResponseWriter, r *http.Request, p identity.Principal, err error) {
	err = e.outward(ctx, r.URL.Path, err)
	e.records.unread(ctx, r, p, err)
	routes.LeaveBody(w, r)
	// The caller may be gone; the error can be ignored.
	_ = e.refusals.Write(w, r, err)
}

// unread records a call that was refused before it was read.
func (s *recorder) unread(ctx context.Context, r *http.Request, p identity.Principal, err error) {
	if s.config.Audit == nil || !isRecorded(r.URL.Path) {
		return
	}
	s.record(ctx, &recorded{caller: p, known: audit.Record{Action: r.URL.Path, Source: address.Host(r.RemoteAddr)}}, nil, nil, err)
}

// handle creates the handlers of a service twice: for callers who may make its calls,
// and for those who may not, or need not be known.
func handle[S any](s *Server, records *recorder, make func(S, ...connect.HandlerOption) (string, http.Handler), service S) (string, http.Handler) {
	bounded := func(bytes int) http.Handler {
		_, h := make(service, connect.WithInterceptors(records, admission{s}, connect.UnaryInterceptorFunc(records.look)), boundedcall.Handler(bytes))
		return h
	}
	path, _ := make(service)
	return path, early{Server: s, records: records, known: bounded(maxRequest), small: bounded(maxOpen), refusals: connect.NewErrorWriter()}
}
