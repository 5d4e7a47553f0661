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

// rule is who may make a call: the action, and how the object that it is about is found.
// A call without a finder is about the hub as a whole, which only bindings of the whole hub
// cover.
type rule struct {
	action identity.Action
	find   finder
}

// rules has the rule of each call. A call that is not listed is refused.
var rules = withTopicRules(map[string]rule{
	hubv1connect.SessionsSetupProcedure:               {open, nil},
	hubv1connect.SessionsWhoAmIProcedure:              {identity.ActionSelf, nil},
	hubv1connect.ProjectsListProcedure:                {identity.ActionRead, anywhere},
	hubv1connect.ProjectsGetProcedure:                 {identity.ActionRead, anywhere},
	hubv1connect.ProjectsCreateProcedure:              {identity.ActionAdmin, nil},
	hubv1connect.ProjectsUpdateProcedure:              {identity.ActionAdmin, nil},
	hubv1connect.ProjectsDeleteProcedure:              {identity.ActionAdmin, nil},
	hubv1connect.ClustersListProcedure:                {identity.ActionRead, anywhere},
	hubv1connect.ClustersGetProcedure:                 {identity.ActionRead, ofCluster},
	hubv1connect.ClustersCreateProcedure:              {identity.ActionCreate, ofNewCluster},
	hubv1connect.ClustersUpdateProcedure:              {identity.ActionWrite, ofCluster},
	hubv1connect.ClustersMoveProcedure:                {identity.ActionWrite, ofClusterMove},
	hubv1connect.ClustersApproveProcedure:             {identity.ActionAdmin, nil},
	hubv1connect.ClustersDeleteProcedure:              {identity.ActionWrite, ofCluster},
	hubv1connect.ClustersDestroyProcedure:             {identity.ActionWrite, ofCluster},
	hubv1connect.ClustersReplaceMachineProcedure:      {identity.ActionWrite, ofCluster},
	hubv1connect.ClustersAdminKubeconfigProcedure:     {identity.ActionAdmin, nil},
	hubv1connect.ClustersSettleOrphanProcedure:        {identity.ActionAdmin, nil},
	hubv1connect.ClustersListComponentsProcedure:      {identity.ActionAdmin, nil},
	hubv1connect.ClustersInstallComponentsProcedure:   {identity.ActionAdmin, nil},
	hubv1connect.RepositoriesListProcedure:            {identity.ActionRead, anywhere},
	hubv1connect.RepositoriesGetProcedure:             {identity.ActionRead, ofRepository},
	hubv1connect.RepositoriesCreateProcedure:          {identity.ActionGit, ofNewRepository},
	hubv1connect.RepositoriesUpdateProcedure:          {identity.ActionGit, ofChangedRepository},
	hubv1connect.RepositoriesRefreshProcedure:         {identity.ActionGit, ofRepository},
	hubv1connect.RepositoriesDeleteProcedure:          {identity.ActionGit, ofRepository},
	hubv1connect.WebhooksListProcedure:                {identity.ActionRead, anywhere},
	hubv1connect.WebhooksCreateProcedure:              {identity.ActionGit, ofNewWebhook},
	hubv1connect.WebhooksDeleteProcedure:              {identity.ActionGit, ofWebhook},
	hubv1connect.ServicesListProcedure:                {identity.ActionRead, anywhere},
	hubv1connect.ServicesGetProcedure:                 {identity.ActionRead, ofService},
	hubv1connect.ServicesCreateProcedure:              {identity.ActionCreate, ofSpec},
	hubv1connect.ServicesUpdateProcedure:              {identity.ActionWrite, ofSpec},
	hubv1connect.ServicesApplyProcedure:               {identity.ActionWrite, ofSpec},
	hubv1connect.ServicesSyncProcedure:                {identity.ActionWrite, ofService},
	hubv1connect.ServicesPauseProcedure:               {identity.ActionWrite, ofService},
	hubv1connect.ServicesResumeProcedure:              {identity.ActionWrite, ofService},
	hubv1connect.ServicesRollbackProcedure:            {identity.ActionWrite, ofService},
	hubv1connect.ServicesListRevisionsProcedure:       {identity.ActionRead, ofService},
	hubv1connect.ServicesListTestsProcedure:           {identity.ActionRead, ofService},
	hubv1connect.ServicesApprovePruneProcedure:        {identity.ActionWrite, ofService},
	hubv1connect.ServicesDiffProcedure:                {identity.ActionWrite, ofService},
	hubv1connect.ServicesPreviewProcedure:             {identity.ActionWrite, ofService},
	hubv1connect.ServicesDeleteProcedure:              {identity.ActionWrite, ofService},
	hubv1connect.ServicesConfigProcedure:              {identity.ActionRead, ofService},
	hubv1connect.ServicesGetTreeProcedure:             {identity.ActionRead, ofServiceTree},
	hubv1connect.OperationsListProcedure:              {identity.ActionRead, anywhere},
	hubv1connect.OperationsGetProcedure:               {identity.ActionRead, ofOperation},
	hubv1connect.OperationsStartProcedure:             {identity.ActionWrite, ofStartedOperation},
	hubv1connect.OperationsCancelProcedure:            {identity.ActionWrite, ofOperation},
	hubv1connect.OperationsListTargetsProcedure:       {identity.ActionRead, ofOperation},
	hubv1connect.GlobalServicesListProcedure:          {identity.ActionRead, anywhere},
	hubv1connect.GlobalServicesGetProcedure:           {identity.ActionRead, ofGlobal},
	hubv1connect.GlobalServicesApplyProcedure:         {identity.ActionWrite, ofTemplate},
	hubv1connect.GlobalServicesDeleteProcedure:        {identity.ActionWrite, ofGlobal},
	hubv1connect.GlobalServicesGetRolloutProcedure:    {identity.ActionRead, ofGlobal},
	hubv1connect.GlobalServicesPauseRolloutProcedure:  {identity.ActionWrite, ofGlobal},
	hubv1connect.GlobalServicesResumeRolloutProcedure: {identity.ActionWrite, ofGlobal},
	hubv1connect.GlobalServicesAbortRolloutProcedure:  {identity.ActionWrite, ofGlobal},
	hubv1connect.ManagedNamespacesListProcedure:       {identity.ActionRead, anywhere},
	hubv1connect.ManagedNamespacesGetProcedure:        {identity.ActionRead, ofNamespace},
	hubv1connect.ManagedNamespacesApplyProcedure:      {identity.ActionWrite, ofTemplate},
	hubv1connect.ManagedNamespacesDeleteProcedure:     {identity.ActionWrite, ofNamespace},
	hubv1connect.ContextsListProcedure:                {identity.ActionRead, anywhere},
	hubv1connect.ContextsGetProcedure:                 {identity.ActionRead, ofContext},
	hubv1connect.ContextsCreateProcedure:              {identity.ActionCreate, ofContextSet},
	hubv1connect.ContextsUpdateProcedure:              {identity.ActionWrite, ofContextSet},
	hubv1connect.ContextsDeleteProcedure:              {identity.ActionWrite, ofContext},
	hubv1connect.OutputsListProcedure:                 {identity.ActionRead, anywhere},
	hubv1connect.OutputsPutProcedure:                  {identity.ActionWrite, ofOutputsSet},
	hubv1connect.OutputsDeleteProcedure:               {identity.ActionWrite, ofOutputs},
	hubv1connect.BackendsListProcedure:                {identity.ActionRead, nil},
	hubv1connect.BackendsMigrateProcedure:             {identity.ActionAdmin, nil},
	hubv1connect.BackendsGetMigrationProcedure:        {identity.ActionRead, nil},
	hubv1connect.BackendsRotateKeyProcedure:           {identity.ActionAdmin, nil},
	hubv1connect.TokensListProcedure:                  {identity.ActionSelf, nil},
	hubv1connect.TokensCreateProcedure:                {identity.ActionSelf, nil}, // it gives nothing more, and ends with its maker
	hubv1connect.TokensCreateBootstrapProcedure:       {identity.ActionCreate, inProject},
	hubv1connect.TokensRevokeProcedure:                {identity.ActionSelf, nil}, // Principal.MayEnd decides
	hubv1connect.EventsListProcedure:                  {identity.ActionRead, ofEvents},
	hubv1connect.UsersListProcedure:                   {identity.ActionAdmin, nil},
	hubv1connect.UsersCreateProcedure:                 {identity.ActionAdmin, nil},
	hubv1connect.UsersSetAdminProcedure:               {identity.ActionAdmin, nil},
	hubv1connect.UsersDeleteProcedure:                 {identity.ActionAdmin, nil},
	hubv1connect.GroupsListProcedure:                  {identity.ActionAdmin, nil},
	hubv1connect.GroupsGetProcedure:                   {identity.ActionAdmin, nil},
	hubv1connect.GroupsCreateProcedure:                {identity.ActionAdmin, nil},
	hubv1connect.GroupsDeleteProcedure:                {identity.ActionAdmin, nil},
	hubv1connect.GroupsAddMemberProcedure:             {identity.ActionAdmin, nil},
	hubv1connect.GroupsRemoveMemberProcedure:          {identity.ActionAdmin, nil},
	hubv1connect.BindingsListProcedure:                {identity.ActionSelf, nil},
	hubv1connect.BindingsCreateProcedure:              {identity.ActionAdmin, nil},
	hubv1connect.BindingsDeleteProcedure:              {identity.ActionAdmin, nil},
	hubv1connect.AccessCanIProcedure:                  {identity.ActionSelf, nil},
	hubv1connect.AuditListProcedure:                   {identity.ActionAdmin, nil},
	hubv1connect.AuditVerifyProcedure:                 {identity.ActionAdmin, nil},
	hubv1connect.AuditCheckpointsProcedure:            {identity.ActionAdmin, nil},
	hubv1connect.AuditCheckpointProcedure:             {identity.ActionAdmin, nil},
	hubv1connect.ServiceAccountsListProcedure:         {identity.ActionAdmin, nil},
	hubv1connect.ServiceAccountsCreateProcedure:       {identity.ActionAdmin, nil},
	hubv1connect.ServiceAccountsDeleteProcedure:       {identity.ActionAdmin, nil},
	hubv1connect.ServiceAccountsCreateTokenProcedure:  {identity.ActionAdmin, nil},
	hubv1connect.FederationListProcedure:              {identity.ActionAdmin, nil},
	hubv1connect.FederationCreateProcedure:            {identity.ActionAdmin, nil},
	hubv1connect.FederationDeleteProcedure:            {identity.ActionAdmin, nil},
	hubv1connect.FederationExchangeProcedure:          {open, nil},
	hubv1connect.LoginsTradeProcedure:                 {open, nil},
	hubv1connect.LoginsStartDeviceProcedure:           {open, nil},
	hubv1connect.LoginsPollDeviceProcedure:            {open, nil},
	hubv1connect.LoginsListSessionsProcedure:          {identity.ActionSelf, nil},
	hubv1connect.LoginsEndSessionProcedure:            {identity.ActionSelf, nil}, // as Tokens.Revoke
	hubv1connect.LoginsEndSessionsProcedure:           {identity.ActionSelfChange, nil},
	hubv1connect.LoginsListApplicationsProcedure:      {identity.ActionSelf, nil},
	hubv1connect.LoginsLeaveApplicationProcedure:      {identity.ActionSelfChange, nil},
	hubv1connect.LoginsUnlinkProcedure:                {identity.ActionAdmin, nil},
	hubv1connect.ProvidersListProcedure:               {identity.ActionAdmin, nil},
	hubv1connect.ProvidersCreateProcedure:             {identity.ActionAdmin, nil},
	hubv1connect.ProvidersTryProcedure:                {identity.ActionAdmin, nil},
	hubv1connect.ProvidersUpdateProcedure:             {identity.ActionAdmin, nil},
	hubv1connect.ProvidersDeleteProcedure:             {identity.ActionAdmin, nil},
	hubv1connect.AgentsUpgradeStatusProcedure:         {identity.ActionRead, anywhere},
	hubv1connect.AgentsStartUpgradeProcedure:          {identity.ActionAdmin, nil},
	hubv1connect.AgentsPauseUpgradeProcedure:          {identity.ActionAdmin, nil},
	hubv1connect.AgentsResumeUpgradeProcedure:         {identity.ActionAdmin, nil},
	hubv1connect.AgentsAbortUpgradeProcedure:          {identity.ActionAdmin, nil},
	hubv1connect.ClusterAPICreateCredentialProcedure:  {identity.ActionRead, ofUsedCluster},
	hubv1connect.ClusterAPICreateTicketProcedure:      {identity.ActionRead, ofUsedCluster},
	hubv1connect.ClusterAPIListObjectsProcedure:       {identity.ActionRead, ofUsedCluster},
	hubv1connect.ClusterAPIWatchObjectsProcedure:      {identity.ActionRead, ofUsedCluster},
	hubv1connect.FleetSummaryProcedure:                {identity.ActionRead, anywhere},
	hubv1connect.FleetHeatMapProcedure:                {identity.ActionRead, anywhere},
	hubv1connect.FleetNeedsYouProcedure:               {identity.ActionRead, anywhere},
	hubv1connect.FleetRecentChangesProcedure:          {identity.ActionRead, anywhere},
	hubv1connect.FleetQueryClustersProcedure:          {identity.ActionRead, anywhere},
	hubv1connect.FleetQueryServicesProcedure:          {identity.ActionRead, anywhere},
	hubv1connect.FleetSearchProcedure:                 {identity.ActionRead, anywhere},
	hubv1connect.FleetWatchProcedure:                  {identity.ActionRead, anywhere},
	hubv1connect.FleetSetTopicsProcedure:              {identity.ActionRead, anywhere},
	hubv1connect.ClusterAPIWriteObjectProcedure:       {identity.ActionRead, ofUsedCluster}, // the cluster decides about writes
	hubv1connect.ClusterAPIReadLogsProcedure:          {identity.ActionRead, ofUsedCluster},
	hubv1connect.ClusterAPISearchLogsProcedure:        {identity.ActionRead, ofSearchedLogs},
	hubv1connect.HubStatusProcedure:                   {identity.ActionRead, nil},
	hubv1connect.HubConfirmRestoreProcedure:           {identity.ActionAdmin, nil},
	hubv1connect.HubAtRiskProcedure:                   {identity.ActionAdmin, nil},
	hubv1connect.HubDrainProcedure:                    {identity.ActionAdmin, nil},
	hubv1connect.HubGetSyncWindowsProcedure:           {identity.ActionRead, anywhere},
	hubv1connect.HubSetSyncWindowsProcedure:           {identity.ActionAdmin, nil},
	hubv1connect.HubRotateSigningKeyProcedure:         {identity.ActionAdmin, nil},
	hubv1connect.ClustersEnrollmentProcedure:          {identity.ActionRead, ofCluster},
	hubv1connect.ClustersReadinessProcedure:           {identity.ActionRead, ofCluster},
	hubv1connect.ClustersAgentManifestsProcedure:      {identity.ActionSelf, nil},

	hubv1connect.ClustersGetTemplateVariablesProcedure: {identity.ActionCreate, anywhere},
})

// access has the action of each call, and scopes its finder, if any.
var access, scopes = parts(rules)

func parts(rules map[string]rule) (map[string]identity.Action, map[string]finder) {
	actions, finders := map[string]identity.Action{}, map[string]finder{}
	for call, r := range rules {
		if actions[call] = r.action; r.find != nil {
			finders[call] = r.find
		}
	}
	return actions, finders
}

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
