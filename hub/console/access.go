package console

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	seenHeader     = "Axle-Seen"
	positionHeader = "Axle-Position"
	retryHeader    = "Retry-After"
	// callTimeout bounds every call, fetchTimeout those that wait for an
	// upstream.
	callTimeout  = time.Minute
	fetchTimeout = 6 * time.Minute
)

// open marks calls that need no identity.
const open identity.Action = "open"

// access says what each call needs. A call that is not listed is refused.
var access = map[string]identity.Action{
	hubv1connect.SessionsSetupProcedure:         open,
	hubv1connect.SessionsWhoAmIProcedure:        identity.ActionRead,
	hubv1connect.ProjectsListProcedure:          identity.ActionRead,
	hubv1connect.ProjectsGetProcedure:           identity.ActionRead,
	hubv1connect.ProjectsCreateProcedure:        identity.ActionAdmin,
	hubv1connect.ProjectsUpdateProcedure:        identity.ActionAdmin,
	hubv1connect.ProjectsDeleteProcedure:        identity.ActionAdmin,
	hubv1connect.ClustersListProcedure:          identity.ActionRead,
	hubv1connect.ClustersGetProcedure:           identity.ActionRead,
	hubv1connect.ClustersCreateProcedure:        identity.ActionWrite,
	hubv1connect.ClustersUpdateProcedure:        identity.ActionWrite,
	hubv1connect.ClustersApproveProcedure:       identity.ActionAdmin,
	hubv1connect.ClustersDeleteProcedure:        identity.ActionWrite,
	hubv1connect.RepositoriesListProcedure:      identity.ActionRead,
	hubv1connect.RepositoriesGetProcedure:       identity.ActionRead,
	hubv1connect.RepositoriesCreateProcedure:    identity.ActionWrite,
	hubv1connect.RepositoriesUpdateProcedure:    identity.ActionWrite,
	hubv1connect.RepositoriesRefreshProcedure:   identity.ActionWrite,
	hubv1connect.RepositoriesDeleteProcedure:    identity.ActionWrite,
	hubv1connect.WebhooksListProcedure:          identity.ActionRead,
	hubv1connect.WebhooksCreateProcedure:        identity.ActionAdmin,
	hubv1connect.WebhooksDeleteProcedure:        identity.ActionAdmin,
	hubv1connect.ServicesListProcedure:          identity.ActionRead,
	hubv1connect.ServicesGetProcedure:           identity.ActionRead,
	hubv1connect.ServicesCreateProcedure:        identity.ActionWrite,
	hubv1connect.ServicesUpdateProcedure:        identity.ActionWrite,
	hubv1connect.ServicesApplyProcedure:         identity.ActionWrite,
	hubv1connect.ServicesSyncProcedure:          identity.ActionWrite,
	hubv1connect.ServicesPauseProcedure:         identity.ActionWrite,
	hubv1connect.ServicesResumeProcedure:        identity.ActionWrite,
	hubv1connect.ServicesRollbackProcedure:      identity.ActionWrite,
	hubv1connect.ServicesListRevisionsProcedure: identity.ActionRead,
	hubv1connect.ServicesListTestsProcedure:     identity.ActionRead,
	hubv1connect.ServicesApprovePruneProcedure:  identity.ActionWrite,
	hubv1connect.ServicesDiffProcedure:          identity.ActionWrite,
	hubv1connect.ServicesDeleteProcedure:        identity.ActionWrite,
	hubv1connect.ServicesConfigProcedure:        identity.ActionRead,
	hubv1connect.ContextsListProcedure:          identity.ActionRead,
	hubv1connect.ContextsGetProcedure:           identity.ActionRead,
	hubv1connect.ContextsCreateProcedure:        identity.ActionWrite,
	hubv1connect.ContextsUpdateProcedure:        identity.ActionWrite,
	hubv1connect.ContextsDeleteProcedure:        identity.ActionWrite,
	hubv1connect.OutputsListProcedure:           identity.ActionRead,
	hubv1connect.OutputsPutProcedure:            identity.ActionWrite,
	hubv1connect.OutputsDeleteProcedure:         identity.ActionWrite,
	hubv1connect.BackendsListProcedure:          identity.ActionRead,
	hubv1connect.BackendsMigrateProcedure:       identity.ActionAdmin,
	hubv1connect.BackendsGetMigrationProcedure:  identity.ActionRead,
	hubv1connect.BackendsRotateKeyProcedure:     identity.ActionAdmin,
	hubv1connect.TokensListProcedure:            identity.ActionRead,
	hubv1connect.TokensCreateProcedure:          identity.ActionRead,
	hubv1connect.TokensCreateBootstrapProcedure: identity.ActionWrite,
	hubv1connect.TokensRevokeProcedure:          identity.ActionRead,
	hubv1connect.EventsListProcedure:            identity.ActionRead,
	hubv1connect.AgentsUpgradeStatusProcedure:   identity.ActionRead,
	hubv1connect.AgentsStartUpgradeProcedure:    identity.ActionAdmin,
	hubv1connect.AgentsPauseUpgradeProcedure:    identity.ActionAdmin,
	hubv1connect.AgentsResumeUpgradeProcedure:   identity.ActionAdmin,
	hubv1connect.AgentsAbortUpgradeProcedure:    identity.ActionAdmin,
	hubv1connect.HubStatusProcedure:             identity.ActionRead,
	hubv1connect.HubConfirmRestoreProcedure:     identity.ActionAdmin,
	hubv1connect.HubDrainProcedure:              identity.ActionAdmin,
	hubv1connect.HubGetSyncWindowsProcedure:     identity.ActionRead,
	hubv1connect.HubSetSyncWindowsProcedure:     identity.ActionAdmin,
	hubv1connect.HubRotateSigningKeyProcedure:   identity.ActionAdmin,
}

// admit is what every call passes.
func (s *Server) admit(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		procedure := request.Spec().Procedure
		limit := callTimeout
		if procedure == hubv1connect.RepositoriesRefreshProcedure {
			limit = fetchTimeout
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		ctx, receipt := event.WithReceipt(ctx)
		ctx, err := s.enter(ctx, procedure, request)
		if err != nil {
			return nil, s.outward(ctx, procedure, err)
		}
		response, err := next(ctx, request)
		if err != nil {
			return nil, s.outward(ctx, procedure, err)
		}
		at := receipt.Position()
		if feed := s.Feed.Position(); at.Before(feed) {
			at = feed
		}
		response.Header().Set(positionHeader, at.String())
		return response, nil
	}
}

// enter catches up with what the caller has seen and lets him in, or not.
func (s *Server) enter(ctx context.Context, procedure string, request connect.AnyRequest) (context.Context, error) {
	if err := s.Feed.Ready(); err != nil {
		return ctx, err
	}
	action, listed := access[procedure]
	if !listed {
		return ctx, errcode.New(errcode.Forbidden, "call %s is not open to anybody", procedure)
	}
	if action == open {
		return ctx, nil
	}
	bearer, ok := strings.CutPrefix(request.Header().Get("Authorization"), "Bearer ")
	if !ok {
		return ctx, errcode.New(errcode.Unauthorized, "no token; log in first")
	}
	if err := s.catchUp(ctx, bearer, request.Header().Get(seenHeader)); err != nil {
		return ctx, err
	}
	principal, err := s.Identity.Authenticate(ctx, bearer)
	if err != nil {
		return ctx, err
	}
	if err := s.Identity.Authorize(ctx, principal, action, identity.Scope{}); err != nil {
		return ctx, err
	}
	return identity.WithPrincipal(ctx, principal), nil
}

// catchUp makes sure that the answer is not older than what the caller has
// seen. Only callers that this replica knows are waited for; one that it does
// not know may be known to a newer view, so he is not turned away either. What
// a person claims to have seen never begins a new incarnation.
func (s *Server) catchUp(ctx context.Context, bearer, header string) error {
	seen, err := event.ParsePosition(header)
	if err != nil {
		return err
	}
	if !s.Feed.Position().Before(seen) {
		return nil
	}
	if _, err := s.Identity.Authenticate(ctx, bearer); err != nil {
		return errcode.New(errcode.Unavailable, "this replica has not caught up with position %s yet; try again in a second", seen).After(time.Second)
	}
	return s.Feed.WaitOnly(ctx, seen)
}

// outward turns any error into what a client may see, and logs our own faults.
func (s *Server) outward(ctx context.Context, procedure string, err error) error {
	var done *connect.Error
	if errors.As(err, &done) {
		return err
	}
	code := errcode.Of(err)
	if code == errcode.Internal && ctx.Err() == nil {
		s.Log.LogAttrs(ctx, slog.LevelError, "a call of a person went wrong here", slog.String(logkey.Method, procedure), slog.Any(logkey.Error, err))
	}
	out := connect.NewError(connect.Code(errcode.RPCCode(code)), errors.New(errcode.Message(err)))
	if detail, derr := connect.NewErrorDetail(&hubv1.ErrorDetail{Code: string(code), Message: errcode.Message(err)}); derr == nil {
		out.AddDetail(detail)
	}
	if after := errcode.RetryAfter(err); after > 0 {
		out.Meta().Set(retryHeader, strconv.Itoa(int((after+time.Second-1)/time.Second)))
	}
	return out
}

// caller is who makes the present call; the interceptor put him there.
func caller(ctx context.Context) identity.Principal {
	p, _ := identity.FromContext(ctx)
	return p
}
