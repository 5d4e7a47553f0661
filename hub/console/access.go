package console

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/console/management"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/bearertoken"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/protobox"
)

const (
	seenHeader     = "Axle-Seen"
	positionHeader = "Axle-Position"
	// callTimeout limits every call, fetchTimeout those that wait for an upstream.
	callTimeout  = time.Minute
	fetchTimeout = 6 * time.Minute
)

// open marks calls that need no identity.
const open identity.Action = "open"

// access lists the action of each call; where finds its object. A call that is
// not listed is refused.
var access = withActions(map[string]identity.Action{
	hubv1connect.SessionsSetupProcedure:               open,
	hubv1connect.SessionsWhoAmIProcedure:              identity.ActionSelf,
	hubv1connect.ProjectsListProcedure:                identity.ActionRead,
	hubv1connect.ProjectsGetProcedure:                 identity.ActionRead,
	hubv1connect.ProjectsCreateProcedure:              identity.ActionAdmin,
	hubv1connect.ProjectsUpdateProcedure:              identity.ActionAdmin,
	hubv1connect.ProjectsDeleteProcedure:              identity.ActionAdmin,
	hubv1connect.ClustersListProcedure:                identity.ActionRead,
	hubv1connect.ClustersGetProcedure:                 identity.ActionRead,
	hubv1connect.ClustersCreateProcedure:              identity.ActionCreate,
	hubv1connect.ClustersUpdateProcedure:              identity.ActionWrite,
	hubv1connect.ClustersMoveProcedure:                identity.ActionWrite,
	hubv1connect.ClustersApproveProcedure:             identity.ActionAdmin,
	hubv1connect.ClustersDeleteProcedure:              identity.ActionWrite,
	hubv1connect.ClustersDestroyProcedure:             identity.ActionWrite,
	hubv1connect.ClustersReplaceMachineProcedure:      identity.ActionWrite,
	hubv1connect.ClustersAdminKubeconfigProcedure:     identity.ActionAdmin,
	hubv1connect.ClustersListComponentsProcedure:      identity.ActionAdmin,
	hubv1connect.ClustersInstallComponentsProcedure:   identity.ActionAdmin,
	hubv1connect.RepositoriesListProcedure:            identity.ActionRead,
	hubv1connect.RepositoriesGetProcedure:             identity.ActionRead,
	hubv1connect.RepositoriesCreateProcedure:          identity.ActionGit,
	hubv1connect.RepositoriesUpdateProcedure:          identity.ActionGit,
	hubv1connect.RepositoriesRefreshProcedure:         identity.ActionGit,
	hubv1connect.RepositoriesDeleteProcedure:          identity.ActionGit,
	hubv1connect.WebhooksListProcedure:                identity.ActionRead,
	hubv1connect.WebhooksCreateProcedure:              identity.ActionGit,
	hubv1connect.WebhooksDeleteProcedure:              identity.ActionGit,
	hubv1connect.ServicesListProcedure:                identity.ActionRead,
	hubv1connect.ServicesGetProcedure:                 identity.ActionRead,
	hubv1connect.ServicesCreateProcedure:              identity.ActionCreate,
	hubv1connect.ServicesUpdateProcedure:              identity.ActionWrite,
	hubv1connect.ServicesApplyProcedure:               identity.ActionWrite,
	hubv1connect.ServicesSyncProcedure:                identity.ActionWrite,
	hubv1connect.ServicesPauseProcedure:               identity.ActionWrite,
	hubv1connect.ServicesResumeProcedure:              identity.ActionWrite,
	hubv1connect.ServicesRollbackProcedure:            identity.ActionWrite,
	hubv1connect.ServicesListRevisionsProcedure:       identity.ActionRead,
	hubv1connect.ServicesListTestsProcedure:           identity.ActionRead,
	hubv1connect.ServicesApprovePruneProcedure:        identity.ActionWrite,
	hubv1connect.ServicesDiffProcedure:                identity.ActionWrite,
	hubv1connect.ServicesPreviewProcedure:             identity.ActionWrite,
	hubv1connect.ServicesDeleteProcedure:              identity.ActionWrite,
	hubv1connect.ServicesConfigProcedure:              identity.ActionRead,
	hubv1connect.ServicesGetTreeProcedure:             identity.ActionRead,
	hubv1connect.OperationsListProcedure:              identity.ActionRead,
	hubv1connect.OperationsGetProcedure:               identity.ActionRead,
	hubv1connect.OperationsStartProcedure:             identity.ActionWrite,
	hubv1connect.OperationsCancelProcedure:            identity.ActionWrite,
	hubv1connect.OperationsListTargetsProcedure:       identity.ActionRead,
	hubv1connect.GlobalServicesListProcedure:          identity.ActionRead,
	hubv1connect.GlobalServicesGetProcedure:           identity.ActionRead,
	hubv1connect.GlobalServicesApplyProcedure:         identity.ActionWrite,
	hubv1connect.GlobalServicesDeleteProcedure:        identity.ActionWrite,
	hubv1connect.GlobalServicesGetRolloutProcedure:    identity.ActionRead,
	hubv1connect.GlobalServicesPauseRolloutProcedure:  identity.ActionWrite,
	hubv1connect.GlobalServicesResumeRolloutProcedure: identity.ActionWrite,
	hubv1connect.GlobalServicesAbortRolloutProcedure:  identity.ActionWrite,
	hubv1connect.ManagedNamespacesListProcedure:       identity.ActionRead,
	hubv1connect.ManagedNamespacesGetProcedure:        identity.ActionRead,
	hubv1connect.ManagedNamespacesApplyProcedure:      identity.ActionWrite,
	hubv1connect.ManagedNamespacesDeleteProcedure:     identity.ActionWrite,
	hubv1connect.ContextsListProcedure:                identity.ActionRead,
	hubv1connect.ContextsGetProcedure:                 identity.ActionRead,
	hubv1connect.ContextsCreateProcedure:              identity.ActionCreate,
	hubv1connect.ContextsUpdateProcedure:              identity.ActionWrite,
	hubv1connect.ContextsDeleteProcedure:              identity.ActionWrite,
	hubv1connect.OutputsListProcedure:                 identity.ActionRead,
	hubv1connect.OutputsPutProcedure:                  identity.ActionWrite,
	hubv1connect.OutputsDeleteProcedure:               identity.ActionWrite,
	hubv1connect.BackendsListProcedure:                identity.ActionRead,
	hubv1connect.BackendsMigrateProcedure:             identity.ActionAdmin,
	hubv1connect.BackendsGetMigrationProcedure:        identity.ActionRead,
	hubv1connect.BackendsRotateKeyProcedure:           identity.ActionAdmin,
	hubv1connect.TokensListProcedure:                  identity.ActionSelf,
	hubv1connect.TokensCreateProcedure:                identity.ActionSelf, // it gives nothing more, and ends with its maker
	hubv1connect.TokensCreateBootstrapProcedure:       identity.ActionCreate,
	hubv1connect.TokensRevokeProcedure:                identity.ActionSelf, // Principal.MayEnd decides
	hubv1connect.EventsListProcedure:                  identity.ActionRead,
	hubv1connect.UsersListProcedure:                   identity.ActionAdmin,
	hubv1connect.UsersCreateProcedure:                 identity.ActionAdmin,
	hubv1connect.UsersSetAdminProcedure:               identity.ActionAdmin,
	hubv1connect.UsersDeleteProcedure:                 identity.ActionAdmin,
	hubv1connect.GroupsListProcedure:                  identity.ActionAdmin,
	hubv1connect.GroupsGetProcedure:                   identity.ActionAdmin,
	hubv1connect.GroupsCreateProcedure:                identity.ActionAdmin,
	hubv1connect.GroupsDeleteProcedure:                identity.ActionAdmin,
	hubv1connect.GroupsAddMemberProcedure:             identity.ActionAdmin,
	hubv1connect.GroupsRemoveMemberProcedure:          identity.ActionAdmin,
	hubv1connect.BindingsListProcedure:                identity.ActionSelf,
	hubv1connect.BindingsCreateProcedure:              identity.ActionAdmin,
	hubv1connect.BindingsDeleteProcedure:              identity.ActionAdmin,
	hubv1connect.AccessCanIProcedure:                  identity.ActionSelf,
	hubv1connect.AuditListProcedure:                   identity.ActionAdmin,
	hubv1connect.AuditVerifyProcedure:                 identity.ActionAdmin,
	hubv1connect.AuditCheckpointsProcedure:            identity.ActionAdmin,
	hubv1connect.AuditCheckpointProcedure:             identity.ActionAdmin,
	hubv1connect.ServiceAccountsListProcedure:         identity.ActionAdmin,
	hubv1connect.ServiceAccountsCreateProcedure:       identity.ActionAdmin,
	hubv1connect.ServiceAccountsDeleteProcedure:       identity.ActionAdmin,
	hubv1connect.ServiceAccountsCreateTokenProcedure:  identity.ActionAdmin,
	hubv1connect.FederationListProcedure:              identity.ActionAdmin,
	hubv1connect.FederationCreateProcedure:            identity.ActionAdmin,
	hubv1connect.FederationDeleteProcedure:            identity.ActionAdmin,
	hubv1connect.FederationExchangeProcedure:          open,
	hubv1connect.LoginsTradeProcedure:                 open,
	hubv1connect.LoginsStartDeviceProcedure:           open,
	hubv1connect.LoginsPollDeviceProcedure:            open,
	hubv1connect.LoginsListSessionsProcedure:          identity.ActionSelf,
	hubv1connect.LoginsEndSessionProcedure:            identity.ActionSelf, // as Tokens.Revoke
	hubv1connect.LoginsEndSessionsProcedure:           identity.ActionSelfChange,
	hubv1connect.LoginsUnlinkProcedure:                identity.ActionAdmin,
	hubv1connect.ProvidersListProcedure:               identity.ActionAdmin,
	hubv1connect.ProvidersCreateProcedure:             identity.ActionAdmin,
	hubv1connect.ProvidersTryProcedure:                identity.ActionAdmin,
	hubv1connect.ProvidersUpdateProcedure:             identity.ActionAdmin,
	hubv1connect.ProvidersDeleteProcedure:             identity.ActionAdmin,
	hubv1connect.AgentsUpgradeStatusProcedure:         identity.ActionRead,
	hubv1connect.AgentsStartUpgradeProcedure:          identity.ActionAdmin,
	hubv1connect.AgentsPauseUpgradeProcedure:          identity.ActionAdmin,
	hubv1connect.AgentsResumeUpgradeProcedure:         identity.ActionAdmin,
	hubv1connect.AgentsAbortUpgradeProcedure:          identity.ActionAdmin,
	hubv1connect.ClusterAPICreateCredentialProcedure:  identity.ActionRead,
	hubv1connect.ClusterAPICreateTicketProcedure:      identity.ActionRead,
	hubv1connect.ClusterAPIListObjectsProcedure:       identity.ActionRead,
	hubv1connect.ClusterAPIWatchObjectsProcedure:      identity.ActionRead,
	hubv1connect.FleetSummaryProcedure:                identity.ActionRead,
	hubv1connect.FleetHeatMapProcedure:                identity.ActionRead,
	hubv1connect.FleetNeedsYouProcedure:               identity.ActionRead,
	hubv1connect.FleetRecentChangesProcedure:          identity.ActionRead,
	hubv1connect.FleetQueryClustersProcedure:          identity.ActionRead,
	hubv1connect.FleetQueryServicesProcedure:          identity.ActionRead,
	hubv1connect.FleetSearchProcedure:                 identity.ActionRead,
	hubv1connect.FleetWatchProcedure:                  identity.ActionRead,
	hubv1connect.FleetSetTopicsProcedure:              identity.ActionRead,
	hubv1connect.ClusterAPIWriteObjectProcedure:       identity.ActionRead, // the cluster decides about writes
	hubv1connect.ClusterAPIReadLogsProcedure:          identity.ActionRead,
	hubv1connect.ClusterAPISearchLogsProcedure:        identity.ActionRead,
	hubv1connect.HubStatusProcedure:                   identity.ActionRead,
	hubv1connect.HubConfirmRestoreProcedure:           identity.ActionAdmin,
	hubv1connect.HubAtRiskProcedure:                   identity.ActionAdmin,
	hubv1connect.HubDrainProcedure:                    identity.ActionAdmin,
	hubv1connect.HubGetSyncWindowsProcedure:           identity.ActionRead,
	hubv1connect.HubSetSyncWindowsProcedure:           identity.ActionAdmin,
	hubv1connect.HubRotateSigningKeyProcedure:         identity.ActionAdmin,
	hubv1connect.ClustersEnrollmentProcedure:          identity.ActionRead,
	hubv1connect.ClustersReadinessProcedure:           identity.ActionRead,
	hubv1connect.ClustersAgentManifestsProcedure:      identity.ActionSelf,

	hubv1connect.ClustersGetTemplateVariablesProcedure: identity.ActionCreate,
})

// admit is the interceptor that every call passes.
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
		err := s.known(ctx, procedure)
		if err == nil && access[procedure] != open {
			err = s.allow(ctx, caller(ctx), procedure, protobox.Held(request.Any()))
		}
		if err == nil {
			ctx, err = management.In(ctx, protobox.Held(request.Any()))
		}
		var response connect.AnyResponse
		if err == nil {
			response, err = next(ctx, request)
		}
		if err != nil {
			return nil, s.outward(ctx, procedure, err)
		}
		at := receipt.Position()
		if feed := s.config.Feed.Position(); at.Before(feed) {
			at = feed
		}
		response.Header().Set(positionHeader, at.String())
		return response, nil
	}
}

// known ensures that early has authenticated the caller, and sets the caller in
// the call's audit record. It lets every open call pass.
func (s *Server) known(ctx context.Context, procedure string) error {
	if access[procedure] == open {
		return s.config.Feed.Ready()
	}
	p := caller(ctx)
	if p.Kind == "" {
		return errcode.New(errcode.Unauthorized, "no identity; log in first")
	}
	noteCaller(ctx, p)
	return nil
}

// recognise waits until this replica has caught up with the caller's position,
// and returns who calls. allow checks what the caller may do, once the object
// of the call is known.
func (s *Server) recognise(ctx context.Context, header http.Header) (identity.Principal, error) {
	nobody := identity.Principal{}
	if err := s.config.Feed.Ready(); err != nil {
		return nobody, err
	}
	bearer := bearertoken.Of(header)
	if bearer == "" {
		return s.bySession(ctx, header)
	}
	if err := s.catchUp(ctx, bearer, header.Get(seenHeader)); err != nil {
		return nobody, err
	}
	return s.config.Identity.Authenticate(ctx, bearer)
}

// catchUp ensures that the answer is not older than what the caller has seen.
func (s *Server) catchUp(ctx context.Context, bearer, header string) error {
	seen, err := event.ParsePosition(header)
	if err != nil {
		return err
	}
	return s.config.Feed.CatchUp(ctx, seen, func(ctx context.Context) error {
		_, err := s.config.Identity.Authenticate(ctx, bearer)
		return err
	})
}

// outward turns any error into one that a client may see, and logs internal errors.
func (s *Server) outward(ctx context.Context, procedure string, err error) error {
	var done *connect.Error
	if errors.As(err, &done) {
		return err
	}
	code := errcode.Of(err)
	if code == errcode.Internal && ctx.Err() == nil {
		s.config.Log.LogAttrs(ctx, slog.LevelError, "an API call failed with an internal error", slog.String(logkey.Method, procedure), slog.Any(logkey.Error, err))
	}
	out := connect.NewError(connect.Code(errcode.RPCCode(code)), errors.New(errcode.Message(err)))
	if detail, derr := connect.NewErrorDetail(&hubv1.ErrorDetail{Code: string(code), Message: errcode.Message(err)}); derr == nil {
		out.AddDetail(detail)
	}
	management.Explain(out, err)
	errcode.SetRetryAfter(out.Meta(), err)
	return out
}

// caller returns who makes the current call; early stored it in the context.
func caller(ctx context.Context) identity.Principal {
	p, _ := identity.FromContext(ctx)
	return p
}
