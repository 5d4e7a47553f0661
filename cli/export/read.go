package export

import (
	"context"
	"slices"
	"strings"
	"sync"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

// atOnce bounds the objects that are read at the same time.
const atOnce = 16

// row is one object of the hub.
type row struct {
	name string
	by   *hubv1.Manager
	// export makes its manifest, and reads the rest of the object where its list leaves
	// something out.
	export func(ctx context.Context) (manifest.Exported, error)
}

// selection says which objects are read.
type selection struct {
	manifest.Exporter
	client *sdk.Client
	// project, cluster and tool select; empty selects all. A kind without the property
	// has no object then.
	project, cluster, tool string
}

// managed reports whether the tool of the selection manages what has this manager; "none"
// is nobody.
func (s selection) managed(by *hubv1.Manager) bool {
	return s.tool == "" || s.tool == by.GetTool() || s.tool == "none" && by.GetTool() == ""
}

// source is a kind of the hub.
type source struct {
	kind string
	// words are what people call it, beside the kind.
	words []string
	// folder is where the files are; a service is in the folder of its cluster.
	folder string
	list   func(ctx context.Context, s selection) ([]row, error)
	get    func(ctx context.Context, s selection, name string) (row, error)
}

// sources are in the order in which objects need each other.
var sources = []source{
	{"Project", []string{"projects"}, "projects", projects, project},
	{"GitRepository", []string{"gitrepositories", "gitrepo", "git"}, "repositories", repositoriesOf("git"), repository},
	{"HelmRepository", []string{"helmrepositories", "helmrepo"}, "repositories", repositoriesOf("helm", "oci", "bucket"), repository},
	{"Cluster", []string{"clusters"}, "clusters", clusters, cluster},
	{"ServiceContext", []string{"servicecontexts", "context", "contexts"}, "contexts", contexts, serviceContext},
	{"ManagedNamespace", []string{"managednamespaces", "namespace", "namespaces"}, "namespaces", namespaces, namespace},
	{"NotificationSink", []string{"notificationsinks", "sink", "sinks"}, "notificationsinks", sinks, sink},
	{"NotificationRouter", []string{"notificationrouters", "router", "routers"}, "notificationrouters", routers, router},
	{"GlobalService", []string{"globalservices", "globals"}, "globalservices", globals, global},
	{"ServiceDeployment", []string{"servicedeployments", "service", "services", "svc"}, "clusters", services, service},
}

// sourceOf finds a kind by a word, without regard to case.
func sourceOf(word string) (source, error) {
	var known []string
	for _, s := range sources {
		if strings.EqualFold(word, s.kind) || slices.Contains(s.words, strings.ToLower(word)) {
			return s, nil
		}
		known = append(known, strings.ToLower(s.kind))
	}
	return source{}, exitcode.Usagef("%q is no kind of manifests; use one of %s", word, strings.Join(known, ", "))
}

func projectRow(s selection, p *hubv1.Project) row {
	return row{p.GetName(), p.GetManagedBy(), func(context.Context) (manifest.Exported, error) { return s.Exporter.Project(p) }}
}

// projects leaves out the default project, which every hub has.
func projects(ctx context.Context, s selection) (rows []row, _ error) {
	list, err := s.client.Projects.List(ctx, connect.NewRequest(&hubv1.ListProjectsRequest{ManagedByTool: s.tool}))
	if err != nil || s.cluster != "" {
		return nil, err
	}
	for _, p := range list.Msg.GetProjects() {
		if p.GetName() != "default" && (s.project == "" || p.GetName() == s.project) {
			rows = append(rows, projectRow(s, p))
		}
	}
	return rows, nil
}

func project(ctx context.Context, s selection, name string) (row, error) {
	return one(ctx, s.client.Projects.Get, &hubv1.GetProjectRequest{Name: name}, s, projectRow)
}

// one reads one object.
func one[Q, M any](ctx context.Context, get func(context.Context, *connect.Request[Q]) (*connect.Response[M], error), request *Q, s selection, made func(selection, *M) row) (row, error) {
	have, err := get(ctx, connect.NewRequest(request))
	if err != nil {
		return row{}, err
	}
	return made(s, have.Msg), nil
}

func repositoryRow(s selection, r *hubv1.Repository) row {
	return row{r.GetName(), r.GetManagedBy(), func(context.Context) (manifest.Exported, error) { return s.Exporter.Repository(r) }}
}

func repositoriesOf(types ...string) func(context.Context, selection) ([]row, error) {
	return func(ctx context.Context, s selection) (rows []row, _ error) {
		list, err := s.client.AllRepositories(ctx, &hubv1.ListRepositoriesRequest{ManagedByTool: s.tool})
		if err != nil || s.cluster != "" {
			return nil, err
		}
		for _, r := range list {
			if slices.Contains(types, r.GetType()) && (s.project == "" || r.GetProject() == s.project) {
				rows = append(rows, repositoryRow(s, r))
			}
		}
		return rows, nil
	}
}

func repository(ctx context.Context, s selection, name string) (row, error) {
	return one(ctx, s.client.Repositories.Get, &hubv1.GetRepositoryRequest{Name: name}, s, repositoryRow)
}

func clusterRow(s selection, c *hubv1.Cluster) row {
	return row{c.GetName(), c.GetManagedBy(), func(context.Context) (manifest.Exported, error) { return s.Exporter.Cluster(c) }}
}

func clusters(ctx context.Context, s selection) (rows []row, _ error) {
	list, err := s.client.AllClusters(ctx, &hubv1.ListClustersRequest{ManagedByTool: s.tool, Project: s.project})
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		if s.cluster == "" || c.GetName() == s.cluster || c.GetHandle() == s.cluster {
			rows = append(rows, clusterRow(s, c))
		}
	}
	return rows, nil
}

func cluster(ctx context.Context, s selection, name string) (row, error) {
	return one(ctx, s.client.Clusters.Get, &hubv1.GetClusterRequest{Name: name}, s, clusterRow)
}

func contextRow(s selection, c *hubv1.Context) row {
	return row{c.GetName(), c.GetManagedBy(), func(context.Context) (manifest.Exported, error) { return s.Exporter.Context(c) }}
}

func contexts(ctx context.Context, s selection) (rows []row, _ error) {
	list, err := s.client.Contexts.List(ctx, connect.NewRequest(&hubv1.ListContextsRequest{ManagedByTool: s.tool}))
	if err != nil || s.cluster != "" {
		return nil, err
	}
	for _, c := range list.Msg.GetContexts() {
		if s.project == "" || c.GetProject() == s.project {
			rows = append(rows, contextRow(s, c))
		}
	}
	return rows, nil
}

func serviceContext(ctx context.Context, s selection, name string) (row, error) {
	return one(ctx, s.client.Contexts.Get, &hubv1.GetContextRequest{Name: name}, s, contextRow)
}

// globalRow reads the template, which lists leave out.
func globalRow(s selection, g *hubv1.GlobalService) row {
	return row{g.GetName(), g.GetManagedBy(), func(ctx context.Context) (manifest.Exported, error) {
		if g.GetSpec() == nil {
			have, err := s.client.GlobalServices.Get(ctx, connect.NewRequest(&hubv1.GetGlobalServiceRequest{Name: g.GetName()}))
			if err != nil {
				return manifest.Exported{}, err
			}
			g = have.Msg
		}
		return s.Exporter.Global(g)
	}}
}

func globals(ctx context.Context, s selection) (rows []row, _ error) {
	if s.cluster != "" {
		return nil, nil
	}
	all, err := command.ListGlobals(ctx, s.client)
	for _, g := range all {
		if !g.GetDeleting() && (s.project == "" || g.GetSettings().GetProject() == s.project) && s.managed(g.GetManagedBy()) {
			rows = append(rows, globalRow(s, g))
		}
	}
	return rows, err
}

func global(ctx context.Context, s selection, name string) (row, error) {
	return one(ctx, s.client.GlobalServices.Get, &hubv1.GetGlobalServiceRequest{Name: name}, s, globalRow)
}

// namespaceRow reads the service, which lists leave out.
func namespaceRow(s selection, n *hubv1.ManagedNamespace) row {
	return row{n.GetName(), n.GetManagedBy(), func(ctx context.Context) (manifest.Exported, error) {
		have, err := s.client.ManagedNamespaces.Get(ctx, connect.NewRequest(&hubv1.GetManagedNamespaceRequest{Name: n.GetName()}))
		if err != nil {
			return manifest.Exported{}, err
		}
		return s.Exporter.ManagedNamespace(have.Msg)
	}}
}

func namespaces(ctx context.Context, s selection) (rows []row, _ error) {
	if s.cluster != "" {
		return nil, nil
	}
	all, err := command.ListNamespaces(ctx, s.client)
	for _, n := range all {
		if !n.GetDeleting() && (s.project == "" || n.GetSettings().GetProject() == s.project) && s.managed(n.GetManagedBy()) {
			rows = append(rows, namespaceRow(s, n))
		}
	}
	return rows, err
}

func namespace(ctx context.Context, s selection, name string) (row, error) {
	return one(ctx, s.client.ManagedNamespaces.Get, &hubv1.GetManagedNamespaceRequest{Name: name}, s, namespaceRow)
}

func sinkRow(s selection, n *hubv1.NotificationSink) row {
	return row{n.GetName(), n.GetManagedBy(), func(context.Context) (manifest.Exported, error) { return s.Exporter.NotificationSink(n) }}
}

func sinks(ctx context.Context, s selection) (rows []row, _ error) {
	all, err := s.client.NotificationSinks.List(ctx, connect.NewRequest(&hubv1.ListNotificationSinksRequest{}))
	if err != nil || s.cluster != "" {
		return nil, err
	}
	for _, n := range all.Msg.GetSinks() {
		if (s.project == "" || n.GetSettings().GetProject() == s.project) && s.managed(n.GetManagedBy()) {
			rows = append(rows, sinkRow(s, n))
		}
	}
	return rows, nil
}

func sink(ctx context.Context, s selection, name string) (row, error) {
	return one(ctx, s.client.NotificationSinks.Get, &hubv1.GetNotificationSinkRequest{Name: name}, s, sinkRow)
}

func routerRow(s selection, n *hubv1.NotificationRouter) row {
	return row{n.GetName(), n.GetManagedBy(), func(context.Context) (manifest.Exported, error) { return s.Exporter.NotificationRouter(n) }}
}

func routers(ctx context.Context, s selection) (rows []row, _ error) {
	all, err := s.client.NotificationRouters.List(ctx, connect.NewRequest(&hubv1.ListNotificationRoutersRequest{}))
	if err != nil || s.cluster != "" {
		return nil, err
	}
	for _, n := range all.Msg.GetRouters() {
		if (s.project == "" || n.GetSettings().GetProject() == s.project) && s.managed(n.GetManagedBy()) {
			rows = append(rows, routerRow(s, n))
		}
	}
	return rows, nil
}

func router(ctx context.Context, s selection, name string) (row, error) {
	return one(ctx, s.client.NotificationRouters.Get, &hubv1.GetNotificationRouterRequest{Name: name}, s, routerRow)
}

func serviceRow(s selection, have *hubv1.Service) row {
	return row{have.GetCluster() + "/" + have.GetName(), have.GetManagedBy(), func(context.Context) (manifest.Exported, error) { return s.Exporter.Service(have) }}
}

// services leaves out those that are being deleted, and those that the hub makes: a
// global service declares them, or nobody does.
func services(ctx context.Context, s selection) (rows []row, _ error) {
	all, err := command.ListServices(ctx, s.client, &hubv1.ListServicesRequest{Cluster: s.cluster, Project: s.project, ManagedByTool: s.tool})
	for _, one := range all {
		if !one.GetDeleting() && one.GetManagedBy().GetTool() != "hub" && one.GetParentId() != "hub" {
			rows = append(rows, serviceRow(s, one))
		}
	}
	return rows, err
}

func service(ctx context.Context, s selection, name string) (row, error) {
	ref, err := command.ServiceRef(name, s.cluster)
	if err != nil {
		return row{}, err
	}
	have, err := s.client.Services.Get(ctx, connect.NewRequest(&hubv1.GetServiceRequest{Ref: ref}))
	if err != nil {
		return row{}, err
	}
	if by := have.Msg.GetManagedBy(); by.GetTool() == "hub" {
		return row{}, errcode.New(errcode.Unprocessable, "service %s is made by the global service or managed namespace %s, whose manifest declares it: axle get globalservices", name, by.GetId())
	}
	return serviceRow(s, have.Msg), nil
}

// exported makes the manifests of rows, in their order. Errors are in the same places.
func exported(ctx context.Context, rows []row) ([]manifest.Exported, []error) {
	out, errs := make([]manifest.Exported, len(rows)), make([]error, len(rows))
	places := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, r := range rows {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			out[i], errs[i] = r.export(ctx)
		})
	}
	all.Wait()
	return out, errs
}
