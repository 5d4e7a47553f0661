package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/plan"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/declare"
	"github.com/axle-cd/axle/sdk/manifest"
)

// pruneAll deletes what the set manages and the files do not declare, in the reverse
// order of applying: the hub keeps what a service uses. Clusters stay: their kind
// declares facts about a cluster and never the cluster.
func (r *applying) pruneAll(ctx context.Context, items []manifest.Item) error {
	switch {
	case !r.prune:
		return nil
	case len(items) == 0:
		return errcode.New(errcode.Invalid, "the files declare nothing, so --prune would delete all that the set %s manages; nothing was deleted", r.set)
	case r.failed > 0:
		// What failed may be what moved, was renamed or is still needed.
		_, err := fmt.Fprintln(r.app.Err, "nothing is pruned, because objects were not applied")
		return err
	}
	declared := map[string]bool{}
	for _, item := range items {
		declared[hubName(item)] = true
	}
	var unseen []string
	for _, one := range r.prunable() {
		names, err := one.names(ctx)
		if errcode.Is(err, errcode.Forbidden) {
			// Who may not even list a kind has not declared any of it.
			unseen = append(unseen, one.kind)
			continue
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			if key := one.kind + "/" + name; !declared[key] && !r.ids[key] {
				r.remove(ctx, one, name)
			}
		}
	}
	if len(unseen) > 0 && !r.app.Quiet {
		fmt.Fprintf(r.app.Err, "not pruned, because only an administrator may list it: %s\n", strings.Join(unseen, ", "))
	}
	return nil
}

// hubName is the kind of prunable and the name in the hub of the object of an item.
func hubName(item manifest.Item) string {
	switch {
	case item.Service != nil:
		return "ServiceDeployment/" + item.Service.GetRef().GetCluster() + "/" + item.Service.GetRef().GetName()
	case item.Global != nil:
		return "GlobalService/" + item.Global.GetName()
	case item.Namespace != nil:
		return "ManagedNamespace/" + item.Namespace.GetName()
	case repositoryOf(item) != nil:
		return "Repository/" + item.Name
	}
	return item.Kind + "/" + item.Name
}

// prunable is a kind of the hub that --prune deletes.
type prunable struct {
	kind string
	// gone is what a deletion is called.
	gone string
	// names are those that the set manages.
	names  func(ctx context.Context) ([]string, error)
	delete func(ctx context.Context, name string) error
}

func (r *applying) prunable() []prunable {
	// It never takes over: an object that somebody has taken over since it was listed
	// is theirs.
	own := &hubv1.Management{By: r.management.GetBy()}
	return slices.Concat(r.prunableKinds(own, declare.Rights()...), []prunable{
		// The agent deletes the objects of a service first.
		{"ServiceDeployment", "deleting", r.services, func(ctx context.Context, name string) error {
			var ref hubv1.ServiceRef
			ref.Cluster, ref.Name, _ = strings.Cut(name, "/")
			_, err := r.client.Services.Delete(ctx, connect.NewRequest(&hubv1.DeleteServiceRequest{Ref: &ref, Management: own}))
			return err
		}},
		{"GlobalService", "deleting", r.globals, func(ctx context.Context, name string) error {
			_, err := r.client.GlobalServices.Delete(ctx, connect.NewRequest(&hubv1.DeleteGlobalServiceRequest{Name: name, Management: own}))
			return err
		}},
		{"ManagedNamespace", "deleting", r.namespaces, func(ctx context.Context, name string) error {
			_, err := r.client.ManagedNamespaces.Delete(ctx, connect.NewRequest(&hubv1.DeleteManagedNamespaceRequest{Name: name, Management: own}))
			return err
		}},
		r.prunableObjects("ServiceContext", object.ServiceContext, own), r.prunableObjects("Repository", object.Repository, own), r.prunableObjects("Project", object.Project, own),
	}, r.prunableKinds(own, "Outputs"))
}

func (r *applying) remove(ctx context.Context, one prunable, name string) {
	view := appliedView{Kind: one.kind, Name: name, Result: one.gone, NotActing: []string{}}
	if !r.dryRun {
		if err := one.delete(ctx, name); err != nil && !sdk.IsNotFound(err) {
			r.failed++
			view.Result = "not deleted: " + err.Error()
		}
	}
	r.views = append(r.views, view)
	r.plan.Add(plan.Object{Kind: one.kind, Name: name, Action: plan.Delete, NotActing: []string{}})
}

// prunableObjects are the objects of a kind that the set manages, by its description.
func (r *applying) prunableObjects(called string, k object.Kind, own *hubv1.Management) prunable {
	objects, _ := r.client.Objects(k.Name)
	return prunable{called, "deleted", func(ctx context.Context) (names []string, _ error) {
		all, err := objects.Managed(ctx, own.GetBy())
		for _, one := range all {
			names = append(names, sdk.Text(one, k.Calls.Names()))
		}
		return names, err
	}, func(ctx context.Context, name string) error { return objects.Delete(ctx, name, own) }}
}

// services are those that the set manages, without those that are being deleted.
func (r *applying) services(ctx context.Context) ([]string, error) {
	all, err := command.ListServices(ctx, r.client, &hubv1.ListServicesRequest{ManagedByTool: r.management.GetBy().GetTool()})
	return present(all, err, r.management.GetBy(), func(s *hubv1.Service) string { return s.GetCluster() + "/" + s.GetName() })
}

// globals are the global services that the set manages, without those that are being
// deleted.
func (r *applying) globals(ctx context.Context) ([]string, error) {
	all, err := command.ListGlobals(ctx, r.client)
	return present(all, err, r.management.GetBy(), (*hubv1.GlobalService).GetName)
}

// namespaces are the managed namespaces of the set, without those that are being deleted.
func (r *applying) namespaces(ctx context.Context) ([]string, error) {
	all, err := command.ListNamespaces(ctx, r.client)
	return present(all, err, r.management.GetBy(), (*hubv1.ManagedNamespace).GetName)
}

// present are the names of those objects that a manager has and that are not being deleted.
func present[T interface {
	GetManagedBy() *hubv1.Manager
	GetDeleting() bool
}](all []T, err error, by *hubv1.Manager, name func(T) string) (names []string, _ error) {
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		if proto.Equal(one.GetManagedBy(), by) && !one.GetDeleting() {
			names = append(names, name(one))
		}
	}
	return names, nil
}
