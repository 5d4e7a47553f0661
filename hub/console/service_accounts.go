package console

import (
	"context"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/console/management"
	"github.com/axle-cd/axle/hub/identity"
)

type serviceAccounts struct{ *Server }

func serviceAccount(a identity.ServiceAccount) *hubv1.ServiceAccount {
	return &hubv1.ServiceAccount{Id: a.ID, Name: a.Name, Admin: a.Admin, CreatedAt: a.CreatedAt, Tokens: int32(a.Tokens), LastUsedAt: a.LastUsedAt, ManagedBy: management.Out(a.ManagedBy)}
}

func (s *serviceAccounts) List(ctx context.Context, _ *connect.Request[hubv1.ListServiceAccountsRequest]) (*connect.Response[hubv1.ListServiceAccountsResponse], error) {
	all, err := s.config.Identity.ServiceAccounts(ctx)
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListServiceAccountsResponse{}
	for _, a := range all {
		out.Accounts = append(out.Accounts, serviceAccount(a))
	}
	return connect.NewResponse(out), nil
}

func (s *serviceAccounts) Create(ctx context.Context, r *connect.Request[hubv1.CreateServiceAccountRequest]) (*connect.Response[hubv1.ServiceAccount], error) {
	made, err := s.config.Identity.CreateServiceAccount(ctx, caller(ctx), r.Msg.GetName(), r.Msg.GetAdmin())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(serviceAccount(made)), nil
}

func (s *serviceAccounts) Delete(ctx context.Context, r *connect.Request[hubv1.DeleteServiceAccountRequest]) (*connect.Response[hubv1.DeleteServiceAccountResponse], error) {
	return connect.NewResponse(&hubv1.DeleteServiceAccountResponse{}), s.config.Trusts.DeleteServiceAccount(ctx, caller(ctx), r.Msg.GetName())
}

func (s *serviceAccounts) CreateToken(ctx context.Context, r *connect.Request[hubv1.CreateServiceAccountTokenRequest]) (*connect.Response[hubv1.CreatedToken], error) {
	made, err := s.config.Identity.CreateServiceAccountToken(ctx, caller(ctx), r.Msg.GetAccount(), identity.TokenRequest{
		Name: r.Msg.GetName(), Scopes: r.Msg.GetScopes(), Lifetime: micros(r.Msg.GetLifetimeMicros()),
	})
	if err != nil {
		return nil, err
	}
	return createdToken(made), nil
}
