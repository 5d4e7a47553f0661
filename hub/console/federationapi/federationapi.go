// Package federationapi serves the API calls about trusts, and exchanges tokens of
// other issuers. hub/console authorizes the callers and registers it;
// hub/identity/federation decides.
//
// Invariant: an address exchanges at most 5 tokens a second, after a burst of 100; those
// that were accepted before, the operator's, do not count.
package federationapi

import (
	"context"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/console/management"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/federation"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
)

// These are RFC 8693's names for a token exchange and for the token types that
// it accepts.
const (
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	typeJWT       = "urn:ietf:params:oauth:token-type:jwt"
	typeIDToken   = "urn:ietf:params:oauth:token-type:id_token"
)

// API implements the calls. The exported fields are required.
type API struct {
	Trusts *federation.Trusts
	// Caller returns who calls, and Exchanged answers an exchange.
	Caller    func(ctx context.Context) identity.Principal
	Exchanged func(ctx context.Context, made identity.CreatedToken) *connect.Response[hubv1.CreatedToken]
	// Exchanges are those of strangers, from Pool.
	Exchanges *pool.Rates
}

var _ hubv1connect.FederationHandler = (*API)(nil)

// Pool returns the pool of exchanges: the jobs of a large CI system come from few addresses.
func Pool(pools *pool.Set, c clock.Clock) *pool.Rates {
	return pools.Rates(pool.RateSpec{
		Name: "strangers_exchanges", Of: "token exchanges", Clock: c,
		Caller: pool.Rate{Burst: 100, Every: time.Second / 5}, Project: pool.Rate{Burst: 800, Every: time.Second / 40},
	})
}

func trust(t federation.Trust) *hubv1.Trust {
	return &hubv1.Trust{
		Id: t.ID, Name: t.Name, Issuer: t.Issuer, Audience: t.Audience, Claims: t.Claims, Account: t.Account, Scopes: t.Scopes,
		LifetimeMicros: t.Lifetime, CreatedAt: t.CreatedAt, CreatedBy: t.CreatedBy, LastUsedAt: t.LastUsedAt, ManagedBy: management.Out(t.ManagedBy), CaPem: t.CAPEM,
	}
}

// List implements hubv1connect.FederationHandler.
func (s *API) List(ctx context.Context, _ *connect.Request[hubv1.ListTrustsRequest]) (*connect.Response[hubv1.ListTrustsResponse], error) {
	all, err := s.Trusts.Trusts(ctx)
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListTrustsResponse{}
	for _, t := range all {
		out.Trusts = append(out.Trusts, trust(t))
	}
	return connect.NewResponse(out), nil
}

// Create implements hubv1connect.FederationHandler.
func (s *API) Create(ctx context.Context, r *connect.Request[hubv1.CreateTrustRequest]) (*connect.Response[hubv1.Trust], error) {
	m := r.Msg
	made, err := s.Trusts.CreateTrust(ctx, s.Caller(ctx), federation.Trust{
		Name: m.GetName(), Issuer: m.GetIssuer(), Audience: m.GetAudience(), Claims: m.GetClaims(), Account: m.GetAccount(), Scopes: m.GetScopes(),
		Lifetime: m.GetLifetimeMicros(), CAPEM: m.GetCaPem(),
	})
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(trust(made)), nil
}

// Delete implements hubv1connect.FederationHandler.
func (s *API) Delete(ctx context.Context, r *connect.Request[hubv1.DeleteTrustRequest]) (*connect.Response[hubv1.DeleteTrustResponse], error) {
	return connect.NewResponse(&hubv1.DeleteTrustResponse{}), s.Trusts.DeleteTrust(ctx, s.Caller(ctx), r.Msg.GetName())
}

// Exchange implements hubv1connect.FederationHandler.
func (s *API) Exchange(ctx context.Context, r *connect.Request[hubv1.ExchangeRequest]) (*connect.Response[hubv1.CreatedToken], error) {
	from := pool.Stranger(r.Peer().Addr)
	if !s.Trusts.Known(r.Msg.GetSubjectToken()) {
		if err := s.Exchanges.Take(from); err != nil {
			return nil, err
		}
	}
	if g := r.Msg.GetGrantType(); g != "" && g != grantExchange {
		return nil, errcode.New(errcode.Invalid, "grant_type: only %s is supported", grantExchange)
	}
	if t := r.Msg.GetSubjectTokenType(); t != "" && t != typeJWT && t != typeIDToken {
		return nil, errcode.New(errcode.Invalid, "subject_token_type: use %s or %s", typeJWT, typeIDToken)
	}
	made, err := s.Trusts.Exchange(pool.As(ctx, from), r.Msg.GetTrust(), r.Msg.GetSubjectToken())
	if err != nil {
		return nil, err
	}
	return s.Exchanged(ctx, made), nil
}
