package agentapi

import (
	"context"
	"errors"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/bearertoken"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/routes"
)

// The headers of the protocol, in net/http's canonical form.
const (
	seenHeader   = "Axle-Seen"
	positionName = "Axle-Position"
	statusName   = "Axle-Status"
	// proofName is the header that comes with a position and later proves that
	// the hub issued it; shownName carries such a position and its proof,
	// separated by a space.
	proofName = "Axle-Position-Proof"
	shownName = "Axle-Seen-Proof"
)

// first is Header.Get without the canonicalisation, for constant names.
func first(h http.Header, name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// admit waits until this replica is as new as the position that the caller has
// seen, then authenticates the cluster. The order matters: an older view must
// not refuse a token or a cluster that this replica does not know yet.
func (s *Server) admit(ctx context.Context, h http.Header) (identity.Principal, error) {
	if err := s.catchUp(ctx, h); err != nil {
		return identity.Principal{}, err
	}
	p, err := s.config.Identity.Authenticate(ctx, bearertoken.Of(h))
	if err != nil {
		return identity.Principal{}, err
	}
	if p.Kind != identity.KindCluster {
		return identity.Principal{}, errcode.New(errcode.Forbidden, "this address is for agents; a token of kind %s does not work here", p.Kind)
	}
	return p, nil
}

// catchUp ensures that the answer is not older than Axle-Seen. An agent that
// was refused because of its position may send the hub's proof of that
// position. An unproved position is only logged and has no effect: otherwise
// one token could make the whole fleet resync.
func (s *Server) catchUp(ctx context.Context, h http.Header) error {
	if err := s.config.Feed.Ready(); err != nil {
		return err
	}
	seen, err := event.ParsePosition(first(h, seenHeader))
	if err != nil {
		return err
	}
	if !s.config.Feed.Position().Before(seen) {
		return nil
	}
	return s.waitFor(ctx, h, seen)
}

// waitFor is catchUp for a position that this replica has not reached yet. It
// is a separate function because its closures are allocated for each call.
func (s *Server) waitFor(ctx context.Context, h http.Header, seen event.Position) error {
	var caller identity.Principal
	proved := false
	err := s.config.Feed.CatchUp(ctx, seen, func(ctx context.Context) (err error) {
		if caller, err = s.config.Identity.Authenticate(ctx, bearertoken.Of(h)); err == nil && caller.Kind == identity.KindCluster {
			proved = s.config.Feed.Recall(first(h, shownName), caller.Name)
		}
		return err
	})
	if err != nil && caller.Name != "" {
		s.unreached.Do(func() {
			s.log.Warn("a cluster has seen a position of the feed that this replica has not reached", logkey.Cluster, caller.Name, logkey.Position, seen.String(), "proved", proved)
		})
	}
	return err
}

// signedIn admits only agents to the calls behind it, before their bodies are
// read.
func (s *Server) signedIn(next http.Handler) http.Handler {
	refusals := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
		defer cancel()
		p, err := s.admit(ctx, r.Header)
		if err != nil {
			s.position.set(w.Header(), s.config.Feed, s.config.Feed.Position(), first(r.Header, seenHeader))
			routes.LeaveBody(w, r)
			// The caller may be gone; the error can be ignored.
			_ = refusals.Write(w, r, s.rpcError(ctx, r.URL.Path, err))
			return
		}
		next.ServeHTTP(w, r.WithContext(identity.WithPrincipal(ctx, p)))
	})
}

// edge is what all calls have in common: a deadline, cleaned texts, the
// position, and one place that turns errors into codes.
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
		held, err := e.goOn(ctx)
		if err != nil {
			return nil, e.rpcError(ctx, req.Spec().Procedure, err)
		}
		defer held.Leave()
		resp, err := next(ctx, req)
		at := e.config.Feed.Position()
		if committed := receipt.Position(); at.Before(committed) {
			at = committed
		}
		if err != nil {
			err = e.rpcError(ctx, req.Spec().Procedure, err)
			var coded *connect.Error
			if errors.As(err, &coded) {
				e.position.set(coded.Meta(), e.config.Feed, at, "")
			}
			return nil, err
		}
		if resp.Header().Get(positionName) == "" {
			e.position.set(resp.Header(), e.config.Feed, at, "")
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
