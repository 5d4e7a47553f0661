package export

import (
	"context"
	"slices"
	"strings"
	"sync"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/object"
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

// special are the kinds that more than their description is needed for.
var special = []source{
	{"GitRepository", []string{"gitrepositories", "gitrepo", "git"}, "repositories", repositoriesOf("git"), repository},
	{"HelmRepository", []string{"helmrepositories", "helmrepo"}, "repositories", repositoriesOf("helm", "oci", "bucket"), repository},
	{"ServiceDeployment", []string{"servicedeployments", "service", "services", "svc"}, "clusters", services, service},
}

// sources are in the order in which objects need each other.
var sources = allSources()

func allSources() (all []source) {
	for _, kind := range manifest.ExportedKinds {
		if i := slices.IndexFunc(special, func(s source) bool { return s.kind == kind }); i >= 0 {
			all = append(all, special[i])
			continue
		}
		k, _ := object.Named(kind)
		d := described{k}
		all = append(all, source{kind, append([]string{strings.ToLower(kind) + "s"}, k.Words...), k.Folder(), d.list, d.get})
	}
	return all
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

// described are the objects of a kind by its description.
type described struct{ object.Kind }

// row is one object. A list may leave out what its manifest has.
func (d described) row(s selection, have proto.Message, whole bool) row {
	name := sdk.Text(have, d.Calls.Names())
	return row{name, sdk.ManagedBy(have), func(ctx context.Context) (_ manifest.Exported, err error) {
		if !whole {
			objects, _ := s.client.Objects(d.Name)
			if have, err = objects.Get(ctx, name); err != nil {
				return manifest.Exported{}, err
			}
		}
		return s.Exporter.Object(d.Name, have)
	}}
}

// selected reports whether an object is one of the selection. The default project, which
// every hub has, and what is being deleted are not.
func (d described) selected(s selection, have proto.Message) bool {
	name, project := sdk.Text(have, d.Calls.Names()), sdk.Text(have, "project")
	if settings := have.ProtoReflect().Descriptor().Fields().ByName("settings"); settings != nil {
		project = sdk.Text(have.ProtoReflect().Get(settings).Message().Interface(), "project")
	}
	switch d.Name {
	case object.Project.Name:
		project = name
		if name == "default" {
			return false
		}
	case object.Cluster.Name:
		if s.cluster == name || s.cluster == sdk.Text(have, "handle") {
			s.cluster = ""
		}
	}
	deleted, _ := have.(interface{ GetDeleting() bool })
	return s.cluster == "" && (s.project == "" || s.project == project) && s.managed(sdk.ManagedBy(have)) && (deleted == nil || !deleted.GetDeleting())
}

func (d described) list(ctx context.Context, s selection) (rows []row, _ error) {
	method := d.Calls.Path(d.Calls.List)
	request := sdk.NewMessage(hubv1.MethodNamed(method).Input())
	sdk.Set(request, "managed_by_tool", protoreflect.ValueOfString(s.tool))
	sdk.Set(request, "project", protoreflect.ValueOfString(s.project))
	all, err := s.client.All(ctx, method, request)
	for _, have := range all {
		if d.selected(s, have) {
			rows = append(rows, d.row(s, have, !d.Calls.Brief))
		}
	}
	return rows, err
}

func (d described) get(ctx context.Context, s selection, name string) (row, error) {
	objects, _ := s.client.Objects(d.Name)
	have, err := objects.Get(ctx, name)
	if err != nil {
		return row{}, err
	}
	return d.row(s, have, true), nil
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
	have, err := s.client.Repositories.Get(ctx, connect.NewRequest(&hubv1.GetRepositoryRequest{Name: name}))
	if err != nil {
		return row{}, err
	}
	return repositoryRow(s, have.Msg), nil
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
