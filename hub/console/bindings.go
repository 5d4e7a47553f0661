package console

import (
	"context"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/console/management"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

type bindings struct{ *Server }

func binding(b identity.Binding) *hubv1.Binding {
	return &hubv1.Binding{
		Id: b.ID, SubjectKind: string(b.SubjectKind), Subject: b.Subject, Action: string(b.Action), Level: string(b.Level), Object: b.Object,
		CreatedAt: b.CreatedAt, CreatedBy: b.CreatedBy, ManagedBy: management.Out(b.ManagedBy),
	}
}

func bindingList(all []identity.Binding) *connect.Response[hubv1.ListBindingsResponse] {
	out := &hubv1.ListBindingsResponse{}
	for _, b := range all {
		out.Bindings = append(out.Bindings, binding(b))
	}
	return connect.NewResponse(out)
}

// place finds the object of a binding or a question: the scope for a decision,
// and the level, id and name for a binding.
func (s *Server) place(ctx context.Context, p *hubv1.Place) (scope identity.Scope, level identity.Level, id, name string, err error) {
	switch project, cluster, service := p.GetProject(), p.GetCluster(), p.GetService(); {
	case service != "":
		if cluster == "" || project != "" {
			return scope, level, "", "", errcode.New(errcode.Invalid, "place: a service is given by its cluster and its name; leave the project out")
		}
		ref := ref(&hubv1.ServiceRef{Cluster: cluster, Name: service})
		_, scope, err = s.config.Fleet.Declared(ctx, ref)
		return scope, identity.LevelService, scope.Service, ref.String(), err
	case cluster != "":
		if project != "" {
			return scope, level, "", "", errcode.New(errcode.Invalid, "place: a cluster is given by its name only; leave the project out")
		}
		scope, err = s.config.Fleet.ClusterScope(ctx, cluster)
		return scope, identity.LevelCluster, scope.Cluster, cluster, err
	case project != "":
		scope, err = s.config.Fleet.ProjectScope(ctx, project)
		return scope, identity.LevelProject, scope.Project, project, err
	}
	return scope, identity.LevelHub, "", "", nil
}

func (s *bindings) wanted(ctx context.Context, kind, subject string, actions []string, p *hubv1.Place) (identity.NewBinding, error) {
	_, level, id, name, err := s.place(ctx, p)
	if err != nil {
		return identity.NewBinding{}, err
	}
	n := identity.NewBinding{SubjectKind: identity.Kind(kind), Subject: subject, Level: level, ObjectID: id, Object: name}
	for _, a := range actions {
		n.Actions = append(n.Actions, identity.Action(a))
	}
	return n, nil
}

func (s *bindings) List(ctx context.Context, r *connect.Request[hubv1.ListBindingsRequest]) (*connect.Response[hubv1.ListBindingsResponse], error) {
	if r.Msg.GetAt() == nil {
		all, err := s.config.Identity.Bindings(ctx, caller(ctx))
		return bindingList(all), err
	}
	// Others would learn from the answer which objects exist.
	if err := s.config.Identity.Authorize(ctx, caller(ctx), identity.ActionAdmin, identity.Scope{}); err != nil {
		return nil, err
	}
	_, level, id, _, err := s.place(ctx, r.Msg.GetAt())
	if err != nil {
		return nil, err
	}
	all, err := s.config.Identity.BindingsAt(ctx, level, id)
	return bindingList(all), err
}

func (s *bindings) Create(ctx context.Context, r *connect.Request[hubv1.CreateBindingRequest]) (*connect.Response[hubv1.ListBindingsResponse], error) {
	n, err := s.wanted(ctx, r.Msg.GetSubjectKind(), r.Msg.GetSubject(), r.Msg.GetActions(), r.Msg.GetPlace())
	if err != nil {
		return nil, err
	}
	made, err := s.config.Identity.Bind(ctx, caller(ctx).By(), n)
	if err != nil {
		return nil, err
	}
	return bindingList(made), nil
}

func (s *bindings) Delete(ctx context.Context, r *connect.Request[hubv1.DeleteBindingRequest]) (*connect.Response[hubv1.ListBindingsResponse], error) {
	n, err := s.wanted(ctx, r.Msg.GetSubjectKind(), r.Msg.GetSubject(), r.Msg.GetActions(), r.Msg.GetPlace())
	if err != nil {
		return nil, err
	}
	gone, err := s.config.Identity.Unbind(ctx, caller(ctx).By(), n)
	if err != nil {
		return nil, err
	}
	return bindingList(gone), nil
}
