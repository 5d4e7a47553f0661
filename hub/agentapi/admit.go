package agentapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/bearertoken"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/routes"
)

// The headers of the protocol, in the form that net/http keeps them.
const (
	seenHeader   = "Axle-Seen"
	positionName = "Axle-Position"
	statusName   = "Axle-Status"
)

// first is Header.Get without its canonical form, for constant names.
func first(h http.Header, name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// admit waits until this replica is as new as the caller has seen, then says
// which cluster calls. The order matters: a token, or a cluster, that this
// replica does not know yet must not be refused by an older view.
func (s *Server) admit(ctx context.Context, h http.Header) (identity.Principal, error) {
	if err := s.catchUp(ctx, h); err != nil {
		return identity.Principal{}, err
	}
	p, err := s.Identity.Authenticate(ctx, bearertoken.Of(h))
	if err != nil {
		return identity.Principal{}, err
	}
	if p.Kind != identity.KindCluster {
		return identity.Principal{}, errcode.New(errcode.Forbidden, "this address is for agents; a token of kind %s does not work here", p.Kind)
	}
	return p, nil
}

// catchUp makes sure that the answer is not older than Axle-Seen. Only known
// callers are waited for: the wait ends with a look whether the database lost
// that place, which strangers must not be able to ask for.
func (s *Server) catchUp(ctx context.Context, h http.Header) error {
	if err := s.Feed.Ready(); err != nil {
		return err
	}
	seen, err := event.ParsePosition(first(h, seenHeader))
	if err != nil {
		return err
	}
	if !s.Feed.Position().Before(seen) {
		return nil
	}
	if _, err := s.Identity.Authenticate(ctx, bearertoken.Of(h)); err != nil {
		return errcode.New(errcode.Unavailable, "this replica has not caught up with position %s yet; try again in a second", seen).After(time.Second)
	}
	return s.Feed.WaitFor(ctx, seen)
}

// signedIn lets only agents reach the calls behind it, before their bodies are
// read.
func (s *Server) signedIn(next http.Handler) http.Handler {
	refusals := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
		defer cancel()
		p, err := s.admit(ctx, r.Header)
		if err != nil {
			s.position.set(w.Header(), s.Feed.Position())
			routes.LeaveBody(w, r)
			// The caller may be gone; then nobody misses the answer.
			_ = refusals.Write(w, r, s.rpcError(ctx, r.URL.Path, err))
			return
		}
		next.ServeHTTP(w, r.WithContext(identity.WithPrincipal(ctx, p)))
	})
}

// edge is what all calls have in common: a deadline, clean texts, the position,
// and one place where errors become codes.
type edge struct{ *Server }

// WrapUnary implements connect.Interceptor.
func (e *edge) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		ctx, receipt := event.WithReceipt(ctx)
		if m, ok := req.Any().(proto.Message); ok {
			plainText(m)
		}
		e.crowd.enter()
		defer e.crowd.leave()
		resp, err := next(ctx, req)
		at := e.Feed.Position()
		if committed := receipt.Position(); at.Before(committed) {
			at = committed
		}
		if err != nil {
			err = e.rpcError(ctx, req.Spec().Procedure, err)
			var coded *connect.Error
			if errors.As(err, &coded) {
				coded.Meta().Set(positionName, at.String())
			}
			return nil, err
		}
		if resp.Header().Get(positionName) == "" {
			resp.Header().Set(positionName, at.String())
		}
		resp.Header().Set("Cache-Control", "no-store")
		return resp, nil
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (e *edge) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler implements connect.Interceptor.
func (e *edge) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}
