package console

import (
	"context"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/config"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// one converts the result of looking up one object. A NotFound is treated as an
// object that the caller may not see; any other error is returned.
func one(n permission, err error) ([]permission, error) {
	if errcode.Is(err, errcode.NotFound) && n.missing != nil {
		return nil, n.missing
	}
	if err != nil {
		return nil, err
	}
	return []permission{n}, nil
}

func (s *Server) projectPermission(ctx context.Context, action identity.Action, name string) (permission, error) {
	if name == "" {
		name = fleet.DefaultProject
	}
	scope, err := s.config.Fleet.ProjectScope(ctx, name)
	return permission{
		action: action, scope: scope, what: "project " + name, flag: flag("project", name),
		missing: errcode.New(errcode.NotFound, "project %.80q does not exist", name),
	}, err
}

func (s *Server) clusterPermission(ctx context.Context, action identity.Action, name string) (permission, error) {
	scope, err := s.config.Fleet.ClusterScope(ctx, name)
	return permission{
		action: action, scope: scope, what: "cluster " + name, flag: flag("cluster", name),
		missing: errcode.New(errcode.NotFound, "cluster %.80s does not exist", name),
	}, err
}

// exists returns an error when the project or cluster does not exist for the
// caller. Empty names are ignored.
func (s *Server) exists(ctx context.Context, project, cluster string) error {
	if project != "" {
		if _, err := (&projects{s}).Get(ctx, connect.NewRequest(&hubv1.GetProjectRequest{Name: project})); err != nil {
			return err
		}
	}
	if cluster == "" {
		return nil
	}
	permissions, err := one(s.clusterPermission(ctx, identity.ActionRead, cluster))
	if err != nil {
		return err
	}
	return s.may(ctx, caller(ctx), permissions[0])
}

func (s *Server) servicePermission(ctx context.Context, action identity.Action, r *hubv1.ServiceRef) (permission, error) {
	at := ref(r)
	_, scope, err := s.config.Fleet.Declared(ctx, at)
	return serviceAt(action, at, scope), err
}

func serviceAt(action identity.Action, at fleet.Ref, scope identity.Scope) permission {
	return permission{
		action: action, scope: scope, what: "service " + at.String(), flag: flag("service", at.String()),
		missing: errcode.New(errcode.NotFound, "service %.120s does not exist", at),
	}
}

func ofCluster(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	return one(s.clusterPermission(ctx, action, message.(interface{ GetName() string }).GetName()))
}

// ofUsedCluster finds the cluster that a caller wants to use.
func ofUsedCluster(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	if m, ok := message.(interface{ GetObjects() *hubv1.ClusterObjects }); ok {
		return one(s.clusterPermission(ctx, action, m.GetObjects().GetCluster()))
	}
	return one(s.clusterPermission(ctx, action, message.(interface{ GetCluster() string }).GetCluster()))
}

// ofSearchedLogs requires using the cluster, and reading the service if one is named.
func ofSearchedLogs(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	m := message.(*hubv1.SearchLogsRequest)
	if m.GetService() != "" {
		return ofServiceTree(ctx, s, action, &hubv1.GetServiceTreeRequest{Ref: &hubv1.ServiceRef{Cluster: m.GetCluster(), Name: m.GetService()}})
	}
	return ofUsedCluster(ctx, s, action, message)
}

func inProject(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	return one(s.projectPermission(ctx, action, message.(interface{ GetProject() string }).GetProject()))
}

func ofService(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	return one(s.servicePermission(ctx, action, message.(interface{ GetRef() *hubv1.ServiceRef }).GetRef()))
}

// ofNewCluster requires the create action in the project; a new token for an
// existing cluster requires changing that cluster. Cluster names are unique in the
// hub, so the answer must reveal that a name is taken, but it reveals nothing else.
func ofNewCluster(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	m := message.(*hubv1.CreateClusterRequest)
	existing, err := s.clusterPermission(ctx, identity.ActionWrite, m.GetName())
	if errcode.Is(err, errcode.NotFound) {
		return inProject(ctx, s, action, message)
	}
	if err != nil {
		return nil, err
	}
	existing.missing = errcode.New(errcode.Conflict, "the name %.80s is taken; choose another name", m.GetName())
	if m.GetRenewToken() {
		return []permission{existing}, nil
	}
	permissions, err := inProject(ctx, s, action, message)
	existing.action = identity.ActionRead
	return append(permissions, existing), err
}

// repositoryScope is a repository's scope for access. Repositories that the hub
// follows by itself are in no project.
func repositoryScope(r gitcache.Repository) identity.Scope {
	if r.ProjectID == "" {
		return identity.Scope{Project: fleet.DefaultProjectID}
	}
	return identity.Scope{Project: r.ProjectID}
}

func (s *Server) repositoryPermission(ctx context.Context, action identity.Action, name string) (permission, error) {
	r, err := (&repositories{s}).find(ctx, name)
	n := permission{action: action, scope: repositoryScope(r), what: "repository " + name, missing: noRepository(name)}
	if err == nil {
		n.flag, err = s.projectFlag(ctx, n.scope.Project)
	}
	return n, err
}

// projectFlag names a project by id.
func (s *Server) projectFlag(ctx context.Context, id string) (string, error) {
	names, err := s.config.Fleet.ProjectNames(ctx, id)
	if names[id] == "" {
		return "", err
	}
	return flag("project", names[id]), err
}

func ofRepository(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	return one(s.repositoryPermission(ctx, action, message.(interface{ GetName() string }).GetName()))
}

// hubIdentity is required to let a repository use the hub's own identity, or to
// change the URL of one that uses it.
var hubIdentity = permission{action: identity.ActionAdmin, what: "who uses the hub's own identity"}

// ofNewRepository requires the permission to change repositories in the project.
func ofNewRepository(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	permissions, err := inProject(ctx, s, action, message)
	if err != nil {
		return nil, err // as for a project that is hidden
	}
	if message.(*hubv1.CreateRepositoryRequest).GetOptions().GetHubIdentity() {
		permissions = append(permissions, hubIdentity)
	}
	return permissions, nil
}

// ofChangedRepository requires the permission to change the repository.
func ofChangedRepository(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	m := message.(*hubv1.UpdateRepositoryRequest)
	permissions, err := ofRepository(ctx, s, action, message)
	if err != nil {
		return nil, err
	}
	have, err := (&repositories{s}).find(ctx, m.GetName())
	if have.Options.HubIdentity || m.GetOptions().GetHubIdentity() {
		permissions = append(permissions, hubIdentity)
	}
	return permissions, err
}

func ofNewWebhook(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	if name := message.(*hubv1.CreateWebhookRequest).GetRepository(); name != "" {
		return one(s.repositoryPermission(ctx, action, name))
	}
	return []permission{{action: action, what: "the whole hub", flag: "--global"}}, nil
}

// webhookScope returns a webhook's scope: that of its repositories, or the hub.
func (s *Server) webhookScope(w gitcache.Webhook, repositories []gitcache.Repository) identity.Scope {
	for _, r := range repositories {
		if r.ID == w.RepositoryID {
			return repositoryScope(r)
		}
	}
	return identity.Scope{}
}

func ofWebhook(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	name := message.(*hubv1.DeleteWebhookRequest).GetName()
	n := permission{action: action, what: "webhook " + name, missing: errcode.New(errcode.NotFound, "webhook %.80q does not exist", name)}
	all, err := s.config.Webhooks.Webhooks(ctx)
	if err != nil {
		return nil, err
	}
	repositories, err := s.config.Cache.Repositories(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range all {
		if w.Name == name {
			n.scope = s.webhookScope(w, repositories)
			return one(n, nil)
		}
	}
	return nil, n.missing
}

// valueSetScope returns the scope of a context or outputs: a project, or the hub.
func valueSetScope(b config.ValueSetRow) identity.Scope { return identity.Scope{Project: b.ProjectID} }

func (s *Server) valueSetPermission(ctx context.Context, action identity.Action, kind, name string) (permission, error) {
	b, err := s.config.ValueSetByName(ctx, kind, name)
	n := permission{action: action, scope: valueSetScope(b), what: kind + " " + name, flag: "--global", missing: config.NoValueSet(kind, name)}
	if b.Project != "" {
		n.flag = flag("project", b.Project)
	}
	return n, err
}

func ofContext(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	return one(s.valueSetPermission(ctx, action, config.KindContext, message.(interface{ GetName() string }).GetName()))
}

func ofOutputs(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	return one(s.valueSetPermission(ctx, action, config.KindOutputs, message.(interface{ GetName() string }).GetName()))
}

// valueSetPlace identifies a context or outputs and the project they should be in.
type valueSetPlace interface {
	GetName() string
	GetProject() string
}

func ofContextSet(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	m := message.(interface{ GetContext() *hubv1.Context }).GetContext()
	update, _ := message.(*hubv1.UpdateContextRequest)
	return s.valueSetWrite(ctx, action, config.KindContext, m, update.GetGlobal())
}

func ofOutputsSet(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	m := message.(*hubv1.PutOutputsRequest)
	return s.valueSetWrite(ctx, action, config.KindOutputs, m.GetOutputs(), m.GetGlobal())
}

// valueSetWrite requires changing an existing value set, and creating in its new scope
// unless the scope stays the same.
func (s *Server) valueSetWrite(ctx context.Context, action identity.Action, kind string, m valueSetPlace, global bool) ([]permission, error) {
	into := permission{action: identity.ActionCreate, what: "the whole hub", flag: "--global"}
	if m.GetProject() != "" && !global {
		var err error
		if into, err = s.projectPermission(ctx, identity.ActionCreate, m.GetProject()); err != nil {
			return one(into, err)
		}
	}
	existing, err := s.valueSetPermission(ctx, identity.ActionWrite, kind, m.GetName())
	switch {
	case errcode.Is(err, errcode.NotFound):
		if action == identity.ActionWrite && kind == config.KindContext {
			return nil, existing.missing
		}
		return []permission{into}, nil
	case err != nil:
		return nil, err
	case action == identity.ActionCreate:
		existing.action, existing.missing = identity.ActionRead, errcode.New(errcode.Conflict, "the name %.80s is taken; choose another name", m.GetName())
		return []permission{into, existing}, nil
	case m.GetProject() == "" && !global || into.scope == existing.scope:
		return []permission{existing}, nil
	}
	return []permission{existing, into}, nil
}

// ofEvents requires reading the object that events are asked about. Without
// one, the handler leaves out what the caller may not see.
func ofEvents(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	m := message.(*hubv1.ListEventsRequest)
	switch {
	case m.GetService() != "":
		return one(s.servicePermission(ctx, action, &hubv1.ServiceRef{Cluster: m.GetCluster(), Name: m.GetService()}))
	case m.GetCluster() != "":
		return one(s.clusterPermission(ctx, action, m.GetCluster()))
	}
	return anywhere(ctx, s, action, message)
}
