package console

import (
	"context"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/fleet"
)

type projects struct{ *Server }

// micros is a duration as the API sends it.
func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// project finds a project by name; none is the default one.
func (s *Server) project(ctx context.Context, name string) (fleet.Project, error) {
	if name == "" {
		name = fleet.DefaultProject
	}
	return s.Fleet.Project(ctx, name)
}

func project(p fleet.Project) *hubv1.Project {
	return &hubv1.Project{Id: p.ID, Name: p.Name, Description: p.Description, CreatedAt: p.CreatedAt, Clusters: int32(p.Clusters), Services: int32(p.Services)}
}

func (s *projects) List(ctx context.Context, _ *connect.Request[hubv1.ListProjectsRequest]) (*connect.Response[hubv1.ListProjectsResponse], error) {
	all, err := s.Fleet.Projects(ctx)
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListProjectsResponse{}
	for _, p := range all {
		out.Projects = append(out.Projects, project(p))
	}
	return connect.NewResponse(out), nil
}

func (s *projects) Get(ctx context.Context, r *connect.Request[hubv1.GetProjectRequest]) (*connect.Response[hubv1.Project], error) {
	p, err := s.Fleet.Project(ctx, r.Msg.GetName())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(project(p)), nil
}

func (s *projects) Create(ctx context.Context, r *connect.Request[hubv1.CreateProjectRequest]) (*connect.Response[hubv1.Project], error) {
	p, err := s.Fleet.CreateProject(ctx, caller(ctx).By(), r.Msg.GetName(), r.Msg.GetDescription())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(project(p)), nil
}

func (s *projects) Delete(ctx context.Context, r *connect.Request[hubv1.DeleteProjectRequest]) (*connect.Response[hubv1.DeleteProjectResponse], error) {
	if err := s.Fleet.DeleteProject(ctx, caller(ctx).By(), r.Msg.GetName()); err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.DeleteProjectResponse{}), nil
}
