package globalsapi

import (
	"context"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/api/spec/convert"
	"github.com/axle-cd/axle/hub/console/management"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/globals"
	"github.com/axle-cd/axle/hub/fleet/namespaces"
)

// Namespaces implements the calls about managed namespaces. All fields are required.
type Namespaces struct {
	API
	Managed *namespaces.Namespaces
}

var _ hubv1connect.ManagedNamespacesHandler = (*Namespaces)(nil)

// List implements hubv1connect.ManagedNamespacesHandler.
func (s *Namespaces) List(ctx context.Context, r *connect.Request[hubv1.ListManagedNamespacesRequest]) (*connect.Response[hubv1.ListManagedNamespacesResponse], error) {
	reach, err := s.Readable(ctx)
	if err != nil {
		return nil, err
	}
	all, next, err := s.Managed.List(ctx, r.Msg.GetPageToken(), int(r.Msg.GetPageSize()), &reach)
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListManagedNamespacesResponse{NextPageToken: next}
	for _, n := range all {
		out.Namespaces = append(out.Namespaces, namespace(n))
	}
	return connect.NewResponse(out), nil
}

// Get implements hubv1connect.ManagedNamespacesHandler.
func (s *Namespaces) Get(ctx context.Context, r *connect.Request[hubv1.GetManagedNamespaceRequest]) (*connect.Response[hubv1.ManagedNamespace], error) {
	n, err := s.Managed.Get(ctx, r.Msg.GetName())
	if err != nil {
		return nil, err
	}
	out := namespace(n)
	if out.State, err = s.state(ctx, n.Global.ID); err != nil {
		return nil, err
	}
	if n.Core != nil {
		out.ServiceState, err = s.state(ctx, n.Core.ID)
	}
	return connect.NewResponse(out), err
}

// Apply implements hubv1connect.ManagedNamespacesHandler.
func (s *Namespaces) Apply(ctx context.Context, r *connect.Request[hubv1.ApplyManagedNamespaceRequest]) (*connect.Response[hubv1.ApplyManagedNamespaceResponse], error) {
	in := r.Msg.GetSettings()
	request := namespaces.Request{
		Name: r.Msg.GetName(), Project: in.GetProject(), Distro: in.GetDistro(), DryRun: r.Msg.GetDryRun(),
		Declaration: namespaces.Declaration{Description: in.GetDescription(), PullSecrets: in.GetPullSecrets(), Cascade: globals.Cascade(in.GetCascade())},
	}
	for into, from := range map[*map[string]string]map[string]string{&request.Labels: in.GetLabels(), &request.Annotations: in.GetAnnotations(), &request.Tags: in.GetTags()} {
		if len(from) > 0 {
			*into = from
		}
	}
	if r.Msg.GetSpec() != nil {
		request.Service = &fleet.Spec{}
		convert.Copy(request.Service, r.Msg.GetSpec())
	}
	n, outcome, err := s.Managed.Apply(ctx, s.By(ctx), request)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.ApplyManagedNamespaceResponse{Namespace: namespace(n), Result: string(outcome)}), nil
}

// Delete implements hubv1connect.ManagedNamespacesHandler.
func (s *Namespaces) Delete(ctx context.Context, r *connect.Request[hubv1.DeleteManagedNamespaceRequest]) (*connect.Response[hubv1.DeleteManagedNamespaceResponse], error) {
	return connect.NewResponse(&hubv1.DeleteManagedNamespaceResponse{}), s.Managed.Delete(ctx, s.By(ctx), r.Msg.GetName())
}

func namespace(n namespaces.Namespace) *hubv1.ManagedNamespace {
	g := n.Global
	out := &hubv1.ManagedNamespace{
		Id: g.ID, Name: n.Name, Deleting: n.Deleting(), ManagedBy: management.Out(g.ManagedBy), DeclaredBy: g.DeclaredBy, CreatedAt: g.CreatedAt, UpdatedAt: g.UpdatedAt,
		Settings: &hubv1.ManagedNamespaceSettings{
			Description: n.Description, Labels: n.Labels, Annotations: n.Annotations, PullSecrets: n.PullSecrets, Cascade: string(n.Cascade),
			Project: g.Project, Tags: g.Selectors.Tags, Distro: g.Selectors.Distro,
		},
	}
	if n.Core != nil && !n.Core.Deleting {
		out.Spec = withTemplate(*n.Core).GetSpec()
	}
	return out
}
