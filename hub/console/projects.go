package console

import (
	"cmp"
	"context"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/spec/convert"
	"github.com/axle-cd/axle/hub/console/management"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/errcode"
)

type projects struct{ *Server }

// micros converts a duration as the API sends it, in microseconds.
func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// project finds a project by name; an empty name is the default project.
func (s *Server) project(ctx context.Context, name string) (fleet.Project, error) {
	if name == "" {
		name = fleet.DefaultProject
	}
	return s.config.Fleet.Project(ctx, name)
}

func project(p fleet.Project) *hubv1.Project {
	out := &hubv1.Project{Id: p.ID, Name: p.Name, Description: p.Description, CreatedAt: p.CreatedAt, AdministratorsOnly: identity.ForAdministrators(p.ID), Clusters: int32(p.Clusters), Services: int32(p.Services), ManagedBy: management.Out(p.ManagedBy), LimitsManagedBy: management.Out(p.LimitsManagedBy)}
	if l := p.Limits; !l.Zero() {
		out.Limits = &hubv1.ProjectLimits{
			Namespaces: l.Namespaces, Kinds: l.Kinds, ClusterScoped: l.ClusterScoped, ServiceAccount: l.ServiceAccount, Accounts: l.Accounts, SyncWindows: windowMessages(l.SyncWindows),
			Clusters: int32(l.Clusters), Machines: int32(l.Machines), Services: int32(l.Services), Previews: int32(l.Previews), Domains: l.Domains, Applications: int32(l.Applications),
		}
	}
	return out
}

func limits(m *hubv1.ProjectLimits) fleet.Limits {
	return fleet.Limits{
		Namespaces: m.GetNamespaces(), Kinds: m.GetKinds(), ClusterScoped: m.GetClusterScoped(), ServiceAccount: m.GetServiceAccount(), Accounts: m.GetAccounts(), SyncWindows: windows(m.GetSyncWindows()),
		Clusters: int(m.GetClusters()), Machines: int(m.GetMachines()), Services: int(m.GetServices()), Previews: int(m.GetPreviews()), Domains: m.GetDomains(), Applications: int(m.GetApplications()),
	}
}

func (s *projects) List(ctx context.Context, r *connect.Request[hubv1.ListProjectsRequest]) (*connect.Response[hubv1.ListProjectsResponse], error) {
	if err := managed.Filter(r.Msg.GetManagedByTool()); err != nil {
		return nil, err
	}
	all, err := s.seen(ctx)
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListProjectsResponse{}
	for _, p := range all {
		if p.ManagedBy.Selects(r.Msg.GetManagedByTool()) {
			out.Projects = append(out.Projects, project(p))
		}
	}
	return connect.NewResponse(out), nil
}

func (s *projects) Get(ctx context.Context, r *connect.Request[hubv1.GetProjectRequest]) (*connect.Response[hubv1.Project], error) {
	all, err := s.seen(ctx)
	if err != nil {
		return nil, err
	}
	name := cmp.Or(r.Msg.GetName(), fleet.DefaultProject)
	for _, p := range all {
		if p.Name == name {
			return connect.NewResponse(project(p)), nil
		}
	}
	return nil, errcode.New(errcode.NotFound, "project %.80q does not exist", name)
}

// seen returns the projects in which the caller may read something.
func (s *projects) seen(ctx context.Context) ([]fleet.Project, error) {
	reach, err := s.readable(ctx)
	if err != nil {
		return nil, err
	}
	return s.config.Fleet.ProjectsWithin(ctx, reach)
}

func (s *projects) Create(ctx context.Context, r *connect.Request[hubv1.CreateProjectRequest]) (*connect.Response[hubv1.Project], error) {
	p, err := s.config.Fleet.CreateProject(ctx, caller(ctx).By(), fleet.NewProject{Name: r.Msg.GetName(), Description: r.Msg.GetDescription(), Limits: limits(r.Msg.GetLimits()), AdministratorsOnly: r.Msg.GetAdministratorsOnly()})
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(project(p)), nil
}

func (s *projects) Update(ctx context.Context, r *connect.Request[hubv1.UpdateProjectRequest]) (*connect.Response[hubv1.Project], error) {
	change := fleet.ProjectChange{Description: r.Msg.Description}
	if r.Msg.GetLimits() != nil {
		l := limits(r.Msg.GetLimits())
		change.Limits = &l
	}
	p, err := s.config.Fleet.UpdateProject(ctx, caller(ctx).By(), r.Msg.GetName(), change)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(project(p)), nil
}

func (s *projects) Delete(ctx context.Context, r *connect.Request[hubv1.DeleteProjectRequest]) (*connect.Response[hubv1.DeleteProjectResponse], error) {
	scope, err := s.config.Fleet.ProjectScope(ctx, r.Msg.GetName())
	if err == nil {
		err = s.config.Objects.Unused(ctx, "project "+r.Msg.GetName(), scope.Project)
	}
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.DeleteProjectResponse{}), s.config.Fleet.DeleteProject(ctx, caller(ctx).By(), r.Msg.GetName())
}

func windows(all []*hubv1.SyncWindow) (out []fleet.SyncWindow) {
	for _, w := range all {
		var one fleet.SyncWindow
		convert.Copy(&one, w)
		out = append(out, one)
	}
	return out
}

func windowMessages(all []fleet.SyncWindow) (out []*hubv1.SyncWindow) {
	for _, w := range all {
		one := &hubv1.SyncWindow{}
		convert.Copy(one, w)
		out = append(out, one)
	}
	return out
}

func (s *hub) GetSyncWindows(ctx context.Context, _ *connect.Request[hubv1.GetSyncWindowsRequest]) (*connect.Response[hubv1.SyncWindowList], error) {
	all, by, err := s.config.Fleet.SyncWindows(ctx)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.SyncWindowList{SyncWindows: windowMessages(all), ManagedBy: management.Out(by)}), nil
}

func (s *hub) SetSyncWindows(ctx context.Context, r *connect.Request[hubv1.SyncWindowList]) (*connect.Response[hubv1.SyncWindowList], error) {
	if err := s.config.Fleet.SetSyncWindows(ctx, caller(ctx).By(), windows(r.Msg.GetSyncWindows())); err != nil {
		return nil, err
	}
	return s.GetSyncWindows(ctx, nil)
}
