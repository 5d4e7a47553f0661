package console

import (
	"context"
	"slices"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/console/management"
	"github.com/axle-cd/axle/hub/identity"
)

// firstToken is the lifetime of a token that is created together with a user.
const firstToken = 24 * time.Hour

type users struct{ *Server }

func user(u identity.User, groups []string) *hubv1.User {
	return &hubv1.User{Id: u.ID, Kind: string(u.Kind), Name: u.Name, Admin: u.Admin, CreatedAt: u.CreatedAt, Groups: groups, ManagedBy: management.Out(u.ManagedBy), AdminManagedBy: management.Out(u.AdminManagedBy)}
}

func (s *users) List(ctx context.Context, r *connect.Request[hubv1.ListUsersRequest]) (*connect.Response[hubv1.ListUsersResponse], error) {
	people, names, err := s.config.Identity.People(ctx, r.Msg.GetName())
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListUsersResponse{}
	for _, p := range people {
		var groups []string
		for _, id := range p.Groups {
			groups = append(groups, names[id])
		}
		slices.Sort(groups)
		out.Users = append(out.Users, user(p.User, groups))
	}
	return connect.NewResponse(out), nil
}

func (s *users) Create(ctx context.Context, r *connect.Request[hubv1.CreateUserRequest]) (*connect.Response[hubv1.CreateUserResponse], error) {
	if len(r.Msg.GetTokenScopes()) > 0 {
		if err := s.config.Identity.Proved(ctx, caller(ctx)); err != nil {
			return nil, err
		}
	}
	u, err := s.config.Identity.CreateUser(ctx, caller(ctx).By(), identity.KindUser, r.Msg.GetEmail(), r.Msg.GetAdmin())
	if err != nil {
		return nil, err
	}
	out := &hubv1.CreateUserResponse{User: user(u, nil)}
	if len(r.Msg.GetTokenScopes()) == 0 {
		return connect.NewResponse(out), nil
	}
	lifetime := micros(r.Msg.GetTokenLifetimeMicros())
	if lifetime == 0 {
		lifetime = firstToken
	}
	made, err := s.config.Identity.CreateTokenFor(ctx, caller(ctx), u, identity.TokenRequest{Name: "first", Scopes: r.Msg.GetTokenScopes(), Lifetime: lifetime})
	if err != nil {
		return nil, err
	}
	out.Token, out.TokenExpiresAt = made.Secret, made.ExpiresAt
	return connect.NewResponse(out), nil
}

func (s *users) SetAdmin(ctx context.Context, r *connect.Request[hubv1.SetAdminRequest]) (*connect.Response[hubv1.User], error) {
	u, err := s.config.Identity.SetAdmin(ctx, caller(ctx).By(), r.Msg.GetName(), r.Msg.GetAdmin())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(user(u, nil)), nil
}

func (s *users) Delete(ctx context.Context, r *connect.Request[hubv1.DeleteUserRequest]) (*connect.Response[hubv1.DeleteUserResponse], error) {
	return connect.NewResponse(&hubv1.DeleteUserResponse{}), s.config.Identity.DeleteUser(ctx, caller(ctx).By(), r.Msg.GetName())
}
