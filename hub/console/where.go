package console

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// need is one thing that a call wants to do to one thing.
type need struct {
	action identity.Action
	scope  identity.Scope
	// what names it for people, "cluster edge-1", and flag for the command
	// that gives access, "--cluster edge-1".
	what, flag string
	// missing is what whoever may not even read it is told: the same as if it
	// were not there.
	missing error
}

// finder says from a request what the call needs. The action is the one that
// access names. With an error come the needs that were found before it: whoever
// may not do those does not hear of what is further behind.
type finder func(ctx context.Context, s *Server, action identity.Action, message any) ([]need, error)

// where says for each call how the place that it is about is found. A call
// that access lists and that is not here is about the hub as a whole, which
// only bindings of the whole hub reach.
var where = map[string]finder{
	hubv1connect.ProjectsListProcedure: anywhere,
	hubv1connect.ProjectsGetProcedure:  anywhere,

	hubv1connect.ClustersListProcedure:   anywhere,
	hubv1connect.ClustersGetProcedure:    ofCluster,
	hubv1connect.ClustersCreateProcedure: ofNewCluster,
	hubv1connect.ClustersUpdateProcedure: ofCluster,
	hubv1connect.ClustersDeleteProcedure: ofCluster,

	hubv1connect.RepositoriesListProcedure:    anywhere,
	hubv1connect.RepositoriesGetProcedure:     ofRepository,
	hubv1connect.RepositoriesCreateProcedure:  ofNewRepository,
	hubv1connect.RepositoriesUpdateProcedure:  ofChangedRepository,
	hubv1connect.RepositoriesRefreshProcedure: ofRepository,
	hubv1connect.RepositoriesDeleteProcedure:  ofRepository,
	hubv1connect.WebhooksListProcedure:        anywhere,
	hubv1connect.WebhooksCreateProcedure:      ofNewWebhook,
	hubv1connect.WebhooksDeleteProcedure:      ofWebhook,

	hubv1connect.ServicesListProcedure:          anywhere,
	hubv1connect.ServicesGetProcedure:           ofService,
	hubv1connect.ServicesCreateProcedure:        ofSpec,
	hubv1connect.ServicesUpdateProcedure:        ofSpec,
	hubv1connect.ServicesApplyProcedure:         ofSpec,
	hubv1connect.ServicesSyncProcedure:          ofService,
	hubv1connect.ServicesPauseProcedure:         ofService,
	hubv1connect.ServicesResumeProcedure:        ofService,
	hubv1connect.ServicesRollbackProcedure:      ofService,
	hubv1connect.ServicesListRevisionsProcedure: ofService,
	hubv1connect.ServicesListTestsProcedure:     ofService,
	hubv1connect.ServicesApprovePruneProcedure:  ofService,
	hubv1connect.ServicesDiffProcedure:          ofService,
	hubv1connect.ServicesPreviewProcedure:       ofService,
	hubv1connect.ServicesDeleteProcedure:        ofService,
	hubv1connect.ServicesConfigProcedure:        ofService,
	hubv1connect.ServicesGetTreeProcedure:       ofServiceTree,

	hubv1connect.ContextsListProcedure:   anywhere,
	hubv1connect.ContextsGetProcedure:    ofContext,
	hubv1connect.ContextsCreateProcedure: ofContextSet,
	hubv1connect.ContextsUpdateProcedure: ofContextSet,
	hubv1connect.ContextsDeleteProcedure: ofContext,
	hubv1connect.OutputsListProcedure:    anywhere,
	hubv1connect.OutputsPutProcedure:     ofOutputsSet,
	hubv1connect.OutputsDeleteProcedure:  ofOutputs,

	hubv1connect.ClusterAPICreateCredentialProcedure: ofUsedCluster,
	hubv1connect.ClusterAPICreateTicketProcedure:     ofUsedCluster,
	hubv1connect.ClusterAPIListObjectsProcedure:      ofUsedCluster,
	hubv1connect.ClusterAPIWatchObjectsProcedure:     ofUsedCluster,

	hubv1connect.TokensCreateBootstrapProcedure: inProject,
	hubv1connect.EventsListProcedure:            ofEvents,
	hubv1connect.AgentsUpgradeStatusProcedure:   anywhere,
	hubv1connect.HubGetSyncWindowsProcedure:     anywhere,
}

// widens are calls whose fields may ask for more than their action: their
// needs are looked at for administrators too, whose token may lack the scope.
var widens = map[string]bool{hubv1connect.RepositoriesCreateProcedure: true, hubv1connect.RepositoriesUpdateProcedure: true}

// allow is the one place that lets a person's call through. An administrator
// passes without a look at what the call is about, unless it may widen.
func (s *Server) allow(ctx context.Context, p identity.Principal, procedure string, message any) error {
	action, listed := access[procedure]
	if !listed {
		return errcode.New(errcode.Forbidden, "call %s is not open to anybody", procedure)
	}
	find, hub := where[procedure], identity.Scope{}
	if find != nil {
		hub.Project = p.Project
	}
	decided := s.Identity.Decide(ctx, p, action, hub)
	switch {
	case decided.Err == nil && (find == nil || decided.Admin && p.Project == "" && !widens[procedure]):
		return nil
	case decided.Err != nil && (find == nil || !errors.Is(decided.Err, identity.ErrNoBinding) || errors.Is(decided.Err, identity.ErrNoAccess)):
		// Whoever has no access at all hears the same whatever he names.
		return decided.Err
	}
	needs, err := find(ctx, s, action, message)
	for _, n := range needs {
		if err := s.may(ctx, p, n); err != nil {
			return err
		}
	}
	return err
}

// may returns nil when the caller may do what is needed, that there is no such
// thing when he may not read it, and else what would give it.
func (s *Server) may(ctx context.Context, p identity.Principal, n need) error {
	err := s.Identity.Authorize(ctx, p, n.action, n.scope)
	if err == nil {
		return nil
	}
	if errors.Is(err, identity.ErrNoAccess) {
		return err
	}
	if n.missing != nil && s.Identity.Authorize(ctx, p, identity.ActionRead, n.scope) != nil {
		return n.missing
	}
	if !errors.Is(err, identity.ErrNoBinding) || n.flag == "" {
		return err
	}
	return errcode.New(errcode.Forbidden, "%s may not %s %s: no role binding gives it; an administrator does with: %s", p.Name, verbs[n.action], n.what, p.BindCommand(n.action, n.flag))
}

// verbs are the actions in a sentence.
var verbs = map[identity.Action]string{
	identity.ActionRead: "read", identity.ActionWrite: "change", identity.ActionCreate: "create things in", identity.ActionGit: "change repositories and webhooks of",
}

// sight is what the caller may read, for lists. The whole hub for an
// administrator.
func (s *Server) sight(ctx context.Context) (identity.Reach, error) {
	return s.Identity.Reach(ctx, caller(ctx), identity.ActionRead)
}

// anywhere is of calls whose handlers show what the caller may see: it needs
// that there is something.
func anywhere(ctx context.Context, s *Server, action identity.Action, _ any) ([]need, error) {
	_, err := s.Identity.Reach(ctx, caller(ctx), action)
	return nil, err
}

// flag is the value of one, quoted when a shell would take it apart.
func flag(name, value string) string {
	if strings.ContainsAny(value, " '\"$`\\;&|<>()*?\n") {
		value = fmt.Sprintf("%q", value)
	}
	return "--" + name + " " + value
}
