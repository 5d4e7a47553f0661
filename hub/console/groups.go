package console

import (
	"context"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/identity"
)

type groups struct{ *Server }

func group(g identity.Group) *hubv1.Group {
	return &hubv1.Group{Id: g.ID, Name: g.Name, Description: g.Description, CreatedAt: g.CreatedAt, Members: int32(g.Members)}
}

func (s *groups) List(ctx context.Context, _ *connect.Request[hubv1.ListGroupsRequest]) (*connect.Response[hubv1.ListGroupsResponse], error) {
	all, err := s.config.Identity.Groups(ctx)
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListGroupsResponse{}
	for _, g := range all {
		out.Groups = append(out.Groups, group(g))
	}
	return connect.NewResponse(out), nil
}

func (s *groups) whole(ctx context.Context, name string) (*connect.Response[hubv1.Group], error) {
	g, people, sources, err := s.config.Identity.GroupMembers(ctx, name)
	if err != nil {
		return nil, err
	}
	out := group(g)
	for _, p := range people {
		out.Member = append(out.Member, &hubv1.GroupMember{Name: p.Name, Kind: string(p.Kind), Sources: sources[p.ID]})
	}
	return connect.NewResponse(out), nil
}

func (s *groups) Get(ctx context.Context, r *connect.Request[hubv1.GetGroupRequest]) (*connect.Response[hubv1.Group], error) {
	return s.whole(ctx, r.Msg.GetName())
}

func (s *groups) Create(ctx context.Context, r *connect.Request[hubv1.CreateGroupRequest]) (*connect.Response[hubv1.Group], error) {
	g, err := s.config.Identity.CreateGroup(ctx, caller(ctx).By(), r.Msg.GetName(), r.Msg.GetDescription())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(group(g)), nil
}

func (s *groups) Delete(ctx context.Context, r *connect.Request[hubv1.DeleteGroupRequest]) (*connect.Response[hubv1.DeleteGroupResponse], error) {
	if err := s.config.Identity.DeleteGroup(ctx, caller(ctx).By(), r.Msg.GetName()); err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.DeleteGroupResponse{}), nil
}

func (s *groups) AddMember(ctx context.Context, r *connect.Request[hubv1.AddMemberRequest]) (*connect.Response[hubv1.Group], error) {
	if err := s.config.Identity.AddMember(ctx, caller(ctx).By(), r.Msg.GetGroup(), r.Msg.GetUser()); err != nil {
		return nil, err
	}
	return s.whole(ctx, r.Msg.GetGroup())
}

func (s *groups) RemoveMember(ctx context.Context, r *connect.Request[hubv1.RemoveMemberRequest]) (*connect.Response[hubv1.Group], error) {
	if err := s.config.Identity.RemoveMember(ctx, caller(ctx).By(), r.Msg.GetGroup(), r.Msg.GetUser()); err != nil {
		return nil, err
	}
	return s.whole(ctx, r.Msg.GetGroup())
}
