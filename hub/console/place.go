package console

import (
	"context"
	"strings"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/config"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// one is what a finder of one thing returns. An error of the look-up that is
// not NotFound is ours to tell; NotFound is the same as not to be seen.
func one(n need, err error) ([]need, error) {
	if errcode.Is(err, errcode.NotFound) && n.missing != nil {
		return nil, n.missing
	}
	return []need{n}, err
}

func (s *Server) projectNeed(ctx context.Context, action identity.Action, name string) (need, error) {
	if name == "" {
		name = fleet.DefaultProject
	}
	scope, err := s.Fleet.ProjectScope(ctx, name)
	return need{
		action: action, scope: scope, what: "project " + name, flag: flag("project", name),
		missing: errcode.New(errcode.NotFound, "project %.80q does not exist", name),
	}, err
}

func (s *Server) clusterNeed(ctx context.Context, action identity.Action, name string) (need, error) {
	scope, err := s.Fleet.ClusterScope(ctx, name)
	return need{
		action: action, scope: scope, what: "cluster " + name, flag: flag("cluster", name),
		missing: errcode.New(errcode.NotFound, "cluster %.80s does not exist", name),
	}, err
}

// there is an error for a project or a cluster that is not there for the caller.
// Empty names nothing.
func (s *Server) there(ctx context.Context, project, cluster string) error {
	if project != "" {
		if _, err := (&projects{s}).Get(ctx, connect.NewRequest(&hubv1.GetProjectRequest{Name: project})); err != nil {
			return err
		}
	}
	if cluster == "" {
		return nil
	}
	needs, err := one(s.clusterNeed(ctx, identity.ActionRead, cluster))
	if err != nil {
		return err
	}
	return s.may(ctx, caller(ctx), needs[0])
}

func (s *Server) serviceNeed(ctx context.Context, action identity.Action, r *hubv1.ServiceRef) (need, error) {
	at := ref(r)
	scope, err := s.Fleet.ServiceScope(ctx, at)
	return need{
		action: action, scope: scope, what: "service " + at.String(), flag: flag("service", at.String()),
		missing: errcode.New(errcode.NotFound, "service %.120s does not exist", at),
	}, err
}

func ofCluster(ctx context.Context, s *Server, action identity.Action, message any) ([]need, error) {
	return one(s.clusterNeed(ctx, action, message.(interface{ GetName() string }).GetName()))
}

func inProject(ctx context.Context, s *Server, action identity.Action, message any) ([]need, error) {
	return one(s.projectNeed(ctx, action, message.(interface{ GetProject() string }).GetProject()))
}

func ofService(ctx context.Context, s *Server, action identity.Action, message any) ([]need, error) {
	return one(s.serviceNeed(ctx, action, message.(interface{ GetRef() *hubv1.ServiceRef }).GetRef()))
}

// ofNewCluster needs to create in the project; a new token for a cluster that
// is there needs to change that one. Names are one for the hub, so that one
// is taken cannot be hidden, but nothing more is said of it.
func ofNewCluster(ctx context.Context, s *Server, action identity.Action, message any) ([]need, error) {
	m := message.(*hubv1.CreateClusterRequest)
	there, err := s.clusterNeed(ctx, identity.ActionWrite, m.GetName())
	if errcode.Is(err, errcode.NotFound) {
		return inProject(ctx, s, action, message)
	}
	if err != nil {
		return nil, err
	}
	there.missing = errcode.New(errcode.Conflict, "the name %.80s is taken; choose another name", m.GetName())
	if m.GetRenewToken() {
		return []need{there}, nil
	}
	needs, err := inProject(ctx, s, action, message)
	there.action = identity.ActionRead
	return append(needs, there), err
}

// repositoryScope is where a repository is for access. Those that the hub
// follows by itself are in no project.
func repositoryScope(r gitcache.Repository) identity.Scope {
	if r.ProjectID == "" {
		return identity.Scope{Project: fleet.DefaultProjectID}
	}
	return identity.Scope{Project: r.ProjectID}
}

func (s *Server) repositoryNeed(ctx context.Context, action identity.Action, name string) (need, error) {
	r, err := (&repositories{s}).find(ctx, name)
	n := need{action: action, scope: repositoryScope(r), what: "repository " + name, missing: noRepository(name)}
	if err == nil {
		n.flag, err = s.projectFlag(ctx, n.scope.Project)
	}
	return n, err
}

// projectFlag names a project by id.
func (s *Server) projectFlag(ctx context.Context, id string) (string, error) {
	all, err := s.Fleet.Projects(ctx)
	for _, p := range all {
		if p.ID == id {
			return flag("project", p.Name), err
		}
	}
	return "", err
}

func ofRepository(ctx context.Context, s *Server, action identity.Action, message any) ([]need, error) {
	return one(s.repositoryNeed(ctx, action, message.(interface{ GetName() string }).GetName()))
}

func ofNewWebhook(ctx context.Context, s *Server, action identity.Action, message any) ([]need, error) {
	if name := message.(*hubv1.CreateWebhookRequest).GetRepository(); name != "" {
		return one(s.repositoryNeed(ctx, action, name))
	}
	return []need{{action: action, what: "the whole hub", flag: "--global"}}, nil
}

// webhookScopes tells where the webhooks of the hub are: with their
// repositories, or the hub's own.
func (s *Server) webhookScope(w gitcache.Webhook, repositories []gitcache.Repository) identity.Scope {
	for _, r := range repositories {
		if r.ID == w.RepositoryID {
			return repositoryScope(r)
		}
	}
	return identity.Scope{}
}

func ofWebhook(ctx context.Context, s *Server, action identity.Action, message any) ([]need, error) {
	name := message.(*hubv1.DeleteWebhookRequest).GetName()
	n := need{action: action, what: "webhook " + name, missing: errcode.New(errcode.NotFound, "webhook %.80q does not exist", name)}
	all, err := s.Webhooks.Webhooks(ctx)
	if err != nil {
		return nil, err
	}
	repositories, err := s.Cache.Repositories(ctx)
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

// bagScope is where a context or outputs are: in a project, or the hub's.
func bagScope(b config.BagRow) identity.Scope { return identity.Scope{Project: b.ProjectID} }

// bagNeed finds a bag by name.
func (s *Server) bagNeed(ctx context.Context, action identity.Action, kind, name string) (need, error) {
	b, err := s.Values.Bag(ctx, kind, name)
	n := need{action: action, scope: bagScope(b.BagRow), what: kind + " " + name, flag: "--global", missing: config.NoBag(kind, name)}
	if b.Project != "" {
		n.flag = flag("project", b.Project)
	}
	return n, err
}

func ofContext(ctx context.Context, s *Server, action identity.Action, message any) ([]need, error) {
	return one(s.bagNeed(ctx, action, config.KindContext, message.(interface{ GetName() string }).GetName()))
}

func ofOutputs(ctx context.Context, s *Server, action identity.Action, message any) ([]need, error) {
	return one(s.bagNeed(ctx, action, config.KindOutputs, message.(interface{ GetName() string }).GetName()))
}

func ofContextSet(ctx context.Context, s *Server, action identity.Action, message any) ([]need, error) {
	return s.bagSet(ctx, action, config.KindContext, message.(interface{ GetContext() *hubv1.Context }).GetContext())
}

func ofOutputsSet(ctx context.Context, s *Server, action identity.Action, message any) ([]need, error) {
	return s.bagSet(ctx, action, config.KindOutputs, message.(*hubv1.PutOutputsRequest).GetOutputs())
}

// bagSet needs to change a bag that is there, and to create where it is to be.
func (s *Server) bagSet(ctx context.Context, action identity.Action, kind string, m *hubv1.Context) ([]need, error) {
	into := need{action: identity.ActionCreate, what: "the whole hub", flag: "--global"}
	if m.GetProject() != "" {
		var err error
		if into, err = s.projectNeed(ctx, identity.ActionCreate, m.GetProject()); err != nil {
			return one(into, err)
		}
	}
	there, err := s.bagNeed(ctx, identity.ActionWrite, kind, m.GetName())
	switch {
	case errcode.Is(err, errcode.NotFound):
		if action == identity.ActionWrite && kind == config.KindContext {
			return nil, there.missing
		}
		return []need{into}, nil
	case err != nil:
		return nil, err
	case action == identity.ActionCreate:
		there.action, there.missing = identity.ActionRead, errcode.New(errcode.Conflict, "the name %.80s is taken; choose another name", m.GetName())
		return []need{into, there}, nil
	case m.GetProject() == "" && there.scope.Project != "":
		// A change that names no project leaves it where it is when it only
		// adds; else it becomes everybody's.
		return []need{there}, nil
	}
	return []need{there, into}, nil
}

// ofEvents needs to read what events are asked about; without that the
// handler leaves out what the caller may not see.
func ofEvents(ctx context.Context, s *Server, action identity.Action, message any) ([]need, error) {
	m := message.(*hubv1.ListEventsRequest)
	switch {
	case m.GetService() != "":
		return one(s.serviceNeed(ctx, action, &hubv1.ServiceRef{Cluster: m.GetCluster(), Name: m.GetService()}))
	case m.GetCluster() != "":
		return one(s.clusterNeed(ctx, action, m.GetCluster()))
	}
	return anywhere(ctx, s, action, message)
}

// ofSpec is of calls that say what a service should be: they need to change
// it, or to create it on its cluster and in its project, and to read each
// thing of others that it takes from.
func ofSpec(ctx context.Context, s *Server, action identity.Action, message any) ([]need, error) {
	m := message.(interface {
		GetRef() *hubv1.ServiceRef
		GetSpec() *hubv1.ServiceSpec
	})
	needs, project, err := s.placeOfSpec(ctx, action, m.GetRef(), message)
	if err != nil {
		return nil, err
	}
	uses, err := s.usesOf(ctx, m.GetRef(), m.GetSpec(), project)
	return append(needs, uses...), err
}

// placeOfSpec returns the needs and the id of the service's project.
func (s *Server) placeOfSpec(ctx context.Context, action identity.Action, r *hubv1.ServiceRef, message any) ([]need, string, error) {
	there, err := s.serviceNeed(ctx, identity.ActionWrite, r)
	if err == nil && action == identity.ActionWrite {
		return []need{there}, there.scope.Project, nil
	}
	if err != nil && !errcode.Is(err, errcode.NotFound) {
		return nil, "", err
	}
	if _, update := message.(*hubv1.UpdateServiceRequest); update {
		return nil, "", there.missing
	}
	on, cerr := s.clusterNeed(ctx, identity.ActionCreate, r.GetCluster())
	needs, cerr := one(on, cerr)
	if cerr != nil {
		return nil, "", cerr
	}
	project := on.scope.Project
	if name := message.(interface{ GetProject() string }).GetProject(); name != "" {
		in, perr := s.projectNeed(ctx, identity.ActionCreate, name)
		more, perr := one(in, perr)
		if perr != nil {
			return nil, "", perr
		}
		needs, project = append(needs, more...), in.scope.Project
	}
	if id := parentOf(message); id != "" {
		parent, perr := s.parentNeed(ctx, id)
		if perr != nil {
			return nil, "", perr
		}
		needs = append(needs, parent)
	}
	return needs, project, nil
}

func parentOf(message any) string {
	if m, ok := message.(*hubv1.ApplyServiceRequest); ok {
		return m.GetParentId()
	}
	return ""
}

func (s *Server) parentNeed(ctx context.Context, id string) (need, error) {
	missing := errcode.New(errcode.Invalid, "parent: there is no service with the id %.80s", id)
	v, err := s.Fleet.ServiceByID(ctx, id)
	if errcode.Is(err, errcode.NotFound) {
		return need{}, missing
	}
	if err != nil {
		return need{}, err
	}
	c, err := s.Fleet.ClusterByID(ctx, v.ClusterID)
	return need{action: identity.ActionRead, scope: v.Scope(c.Cluster), missing: missing}, err
}

// usesOf needs to read the repositories of other projects that a spec names,
// and the other clusters that it waits for.
func (s *Server) usesOf(ctx context.Context, r *hubv1.ServiceRef, spec *hubv1.ServiceSpec, project string) ([]need, error) {
	all, err := s.Cache.Repositories(ctx)
	if err != nil {
		return nil, err
	}
	var needs []need
	for _, named := range repositoriesIn(spec) {
		for _, have := range all {
			if have.Options.Internal || repositoryScope(have).Project == project || !named.is(have) {
				continue
			}
			needs = append(needs, need{action: identity.ActionRead, scope: repositoryScope(have), missing: named.missing()})
		}
	}
	for _, d := range spec.GetDependencies() {
		if d.GetCluster() == "" || d.GetCluster() == r.GetCluster() {
			continue
		}
		other, err := s.clusterNeed(ctx, identity.ActionRead, d.GetCluster())
		// One that is not there is the same as one that is not to be seen.
		more, err := one(other, err)
		if err != nil {
			return nil, err
		}
		needs = append(needs, more...)
	}
	return needs, nil
}

// namedRepository is how a spec names one: by name, else by URL.
type namedRepository struct{ name, url string }

func (n namedRepository) is(r gitcache.Repository) bool {
	if n.name != "" {
		return r.Name == n.name
	}
	return n.url != "" && plainURL(r.URL) == plainURL(n.url)
}

func plainURL(url string) string {
	return strings.ToLower(strings.TrimRight(strings.TrimSpace(url), "/"))
}

func (n namedRepository) missing() error {
	if n.name != "" {
		return errcode.New(errcode.Invalid, "repository: there is no repository %q; see axle repos list, or add it with: axle repos add", n.name)
	}
	return errcode.New(errcode.Invalid, "url: no repository has the URL %.200q; add it with: axle repos add", n.url)
}

// repositoriesIn lists every repository that a spec names.
func repositoriesIn(spec *hubv1.ServiceSpec) []namedRepository {
	var all []namedRepository
	add := func(name string, urls ...string) {
		if name != "" {
			all = append(all, namedRepository{name: name})
		}
		for _, url := range urls {
			if url != "" {
				all = append(all, namedRepository{url: url})
			}
		}
	}
	helm := func(h *hubv1.Helm) { add(h.GetRepository(), h.GetUrl(), h.GetGit().GetUrl()) }
	add(spec.GetRepository(), spec.GetGit().GetUrl())
	helm(spec.GetHelm())
	for _, source := range spec.GetSources() {
		add(source.GetRepository(), source.GetUrl(), source.GetGit().GetUrl())
	}
	for _, renderer := range spec.GetRenderers() {
		helm(renderer.GetHelm())
	}
	return all
}
