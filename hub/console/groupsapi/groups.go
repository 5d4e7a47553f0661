// Package groupsapi serves the API calls about groups and their members. hub/console
// authorizes the callers and registers it; hub/identity decides.
package groupsapi

import (
	"context"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/console/management"
	"github.com/axle-cd/axle/hub/identity"
)

// API implements the calls. The fields are required.
type API struct {
	Identity *identity.Directory
	// By returns the name of who calls.
	By func(ctx context.Context) string
}

var _ hubv1connect.GroupsHandler = (*API)(nil)

func group(g identity.Group) *hubv1.Group {
	return &hubv1.Group{Id: g.ID, Name: g.Name, Description: g.Description, CreatedAt: g.CreatedAt, Members: int32(g.Members), ManagedBy: management.Out(g.ManagedBy)}
}

// List implements hubv1connect.GroupsHandler.
func (s *API) List(ctx context.Context, _ *connect.Request[hubv1.ListGroupsRequest]) (*connect.Response[hubv1.ListGroupsResponse], error) {
	all, err := s.Identity.Groups(ctx)
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListGroupsResponse{}
	for _, g := range all {
		out.Groups = append(out.Groups, group(g))
	}
	return connect.NewResponse(out), nil
}

func (s *API) whole(ctx context.Context, name string) (*connect.Response[hubv1.Group], error) {
	g, people, memberships, err := s.Identity.GroupMembers(ctx, name)
	if err != nil {
		return nil, err
	}
	out := group(g)
	for _, p := range people {
		m := &hubv1.GroupMember{Name: p.Name, Kind: string(p.Kind)}
		for _, one := range memberships[p.ID] {
			if m.Sources = append(m.Sources, one.Source); one.Source == "" {
				m.ManagedBy = management.Out(one.ManagedBy)
			}
		}
		out.Member = append(out.Member, m)
	}
	return connect.NewResponse(out), nil
}

// Get implements hubv1connect.GroupsHandler.
func (s *API) Get(ctx context.Context, r *connect.Request[hubv1.GetGroupRequest]) (*connect.Response[hubv1.Group], error) {
	return s.whole(ctx, r.Msg.GetName())
}

// Create implements hubv1connect.GroupsHandler.
func (s *API) Create(ctx context.Context, r *connect.Request[hubv1.CreateGroupRequest]) (*connect.Response[hubv1.Group], error) {
	g, err := s.Identity.CreateGroup(ctx, s.By(ctx), r.Msg.GetName(), r.Msg.GetDescription())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(group(g)), nil
}

// Delete implements hubv1connect.GroupsHandler.
func (s *API) Delete(ctx context.Context, r *connect.Request[hubv1.DeleteGroupRequest]) (*connect.Response[hubv1.DeleteGroupResponse], error) {
	return connect.NewResponse(&hubv1.DeleteGroupResponse{}), s.Identity.DeleteGroup(ctx, s.By(ctx), r.Msg.GetName())
}

// AddMember implements hubv1connect.GroupsHandler.
func (s *API) AddMember(ctx context.Context, r *connect.Request[hubv1.AddMemberRequest]) (*connect.Response[hubv1.Group], error) {
	if err := s.Identity.AddMember(ctx, s.By(ctx), r.Msg.GetGroup(), r.Msg.GetUser()); err != nil {
		return nil, err
	}
	return s.whole(ctx, r.Msg.GetGroup())
}

// RemoveMember implements hubv1connect.GroupsHandler.
func (s *API) RemoveMember(ctx context.Context, r *connect.Request[hubv1.RemoveMemberRequest]) (*connect.Response[hubv1.Group], error) {
	if err := s.Identity.RemoveMember(ctx, s.By(ctx), r.Msg.GetGroup(), r.Msg.GetUser()); err != nil {
		return nil, err
	}
	return s.whole(ctx, r.Msg.GetGroup())
}
