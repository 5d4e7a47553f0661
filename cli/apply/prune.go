package apply

import (
	"context"
	"fmt"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

// pruneAll deletes what the set manages and the files do not declare: services first,
// because the hub keeps a repository that a service uses.
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
		switch {
		case item.Service != nil:
			declared["ServiceDeployment/"+refName(item.Service.GetRef())] = true
		case item.Global != nil:
			declared["GlobalService/"+item.Global.GetName()] = true
		case item.Repository != nil:
			declared["GitRepository/"+item.Repository.GetName()] = true
		}
	}
	services, err := r.services(ctx)
	if err != nil {
		return err
	}
	for _, s := range services {
		ref := &hubv1.ServiceRef{Cluster: s.GetCluster(), Name: s.GetName()}
		name := refName(ref)
		if s.GetDeleting() || declared["ServiceDeployment/"+name] {
			continue
		}
		r.remove("ServiceDeployment", name, func() error {
			_, err := r.client.Services.Delete(ctx, connect.NewRequest(&hubv1.DeleteServiceRequest{Ref: ref, Management: r.own()}))
			return err
		})
	}
	if err := r.pruneGlobals(ctx, declared); err != nil {
		return err
	}
	repositories, err := r.repositories(ctx)
	if err != nil {
		return err
	}
	for _, one := range repositories {
		if declared["GitRepository/"+one.GetName()] {
			continue
		}
		r.remove("GitRepository", one.GetName(), func() error {
			_, err := r.client.Repositories.Delete(ctx, connect.NewRequest(&hubv1.DeleteRepositoryRequest{Name: one.GetName(), Management: r.own()}))
			return err
		})
	}
	return nil
}

func (r *applying) pruneGlobals(ctx context.Context, declared map[string]bool) error {
	all, err := r.globals(ctx)
	if err != nil {
		return err
	}
	for _, g := range all {
		if g.GetDeleting() || declared["GlobalService/"+g.GetName()] {
			continue
		}
		r.remove("GlobalService", g.GetName(), func() error {
			_, err := r.client.GlobalServices.Delete(ctx, connect.NewRequest(&hubv1.DeleteGlobalServiceRequest{Name: g.GetName(), Management: r.own()}))
			return err
		})
	}
	return nil
}

// own never takes over: an object that somebody has taken over since it was listed is
// theirs.
func (r *applying) own() *hubv1.Management { return &hubv1.Management{By: r.management.GetBy()} }

func (r *applying) remove(kind, name string, do func() error) {
	view := appliedView{Kind: kind, Name: name, Result: "deleted", NotActing: []string{}}
	if kind != "GitRepository" {
		view.Result = "deleting" // agents delete the objects first
	}
	if !r.dryRun {
		if err := do(); err != nil && !sdk.IsNotFound(err) {
			r.failed++
			view.Result = "not deleted: " + err.Error()
		}
	}
	r.views = append(r.views, view)
}

// services are those that the set manages.
func (r *applying) services(ctx context.Context) (all []*hubv1.Service, err error) {
	request := &hubv1.ListServicesRequest{ManagedByTool: r.management.GetBy().GetTool(), PageSize: 500}
	for {
		page, err := r.client.Services.List(ctx, connect.NewRequest(request))
		if err != nil {
			return nil, err
		}
		for _, s := range page.Msg.GetServices() {
			if proto.Equal(s.GetManagedBy(), r.management.GetBy()) {
				all = append(all, s)
			}
		}
		if request.PageToken = page.Msg.GetNextPageToken(); request.PageToken == "" {
			return all, nil
		}
	}
}

// globals are the global services that the set manages.
func (r *applying) globals(ctx context.Context) (all []*hubv1.GlobalService, err error) {
	request := &hubv1.ListGlobalServicesRequest{PageSize: 500}
	for {
		page, err := r.client.GlobalServices.List(ctx, connect.NewRequest(request))
		if err != nil {
			return nil, err
		}
		for _, g := range page.Msg.GetGlobalServices() {
			if proto.Equal(g.GetManagedBy(), r.management.GetBy()) {
				all = append(all, g)
			}
		}
		if request.PageToken = page.Msg.GetNextPageToken(); request.PageToken == "" {
			return all, nil
		}
	}
}

// repositories are those that the set manages.
func (r *applying) repositories(ctx context.Context) (all []*hubv1.Repository, err error) {
	list, err := r.client.Repositories.List(ctx, connect.NewRequest(&hubv1.ListRepositoriesRequest{ManagedByTool: r.management.GetBy().GetTool()}))
	if err != nil {
		return nil, err
	}
	for _, one := range list.Msg.GetRepositories() {
		if proto.Equal(one.GetManagedBy(), r.management.GetBy()) {
			all = append(all, one)
		}
	}
	return all, nil
}

func refName(ref *hubv1.ServiceRef) string { return ref.GetCluster() + "/" + ref.GetName() }
