// Package providersapi serves the API calls about login providers. hub/console
// authorizes the callers and registers it; hub/identity/account decides.
package providersapi

import (
	"context"
	"slices"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/console/management"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/errcode"
)

// API implements the calls. The fields are required, but for Trials.
type API struct {
	Accounts *account.Accounts
	// URL is that of the hub.
	URL string
	// Caller returns who calls.
	Caller func(ctx context.Context) identity.Principal
	// Trials may be nil: nobody logs in with a browser.
	Trials Trials
}

// Trials are login providers that people try; hub/login implements it.
type Trials interface {
	Try(ctx context.Context, by identity.Principal, p account.Provider, secret *string) (account.TrialLink, error)
}

var _ hubv1connect.ProvidersHandler = (*API)(nil)

func (s *API) provider(p account.Provider) *hubv1.Provider {
	return &hubv1.Provider{
		Id: p.ID, Name: p.Name, Title: p.Title, Issuer: p.Issuer, ClientId: p.ClientID, Scopes: p.Scopes, GroupsClaim: p.GroupsClaim, Groups: p.Groups,
		EmailDomains: p.EmailDomains, AllowUnverified: p.AllowUnverified, CaPem: p.CAPEM, CreatedAt: p.CreatedAt, CallbackUrl: s.URL + p.CallbackPath(), LogoutUrl: s.URL + p.LogoutPath(), ManagedBy: management.Out(p.ManagedBy),
	}
}

// List implements hubv1connect.ProvidersHandler.
func (s *API) List(ctx context.Context, _ *connect.Request[hubv1.ListProvidersRequest]) (*connect.Response[hubv1.ListProvidersResponse], error) {
	all, err := s.Accounts.Providers(ctx)
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListProvidersResponse{}
	for _, p := range all {
		out.Providers = append(out.Providers, s.provider(p))
	}
	return connect.NewResponse(out), nil
}

// Create implements hubv1connect.ProvidersHandler.
func (s *API) Create(ctx context.Context, r *connect.Request[hubv1.CreateProviderRequest]) (*connect.Response[hubv1.Provider], error) {
	made, err := s.Accounts.CreateProvider(ctx, s.Caller(ctx), providerOf(r.Msg.GetProvider()), r.Msg.GetClientSecret())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(s.provider(made)), nil
}

func providerOf(m *hubv1.Provider) account.Provider {
	return account.Provider{
		Name: m.GetName(), Title: m.GetTitle(), Issuer: m.GetIssuer(), ClientID: m.GetClientId(), Scopes: m.GetScopes(), GroupsClaim: m.GetGroupsClaim(),
		Groups: m.GetGroups(), EmailDomains: m.GetEmailDomains(), AllowUnverified: m.GetAllowUnverified(), CAPEM: m.GetCaPem(),
	}
}

// Try implements hubv1connect.ProvidersHandler.
func (s *API) Try(ctx context.Context, r *connect.Request[hubv1.TryProviderRequest]) (*connect.Response[hubv1.TryProviderResponse], error) {
	if s.Trials == nil {
		return nil, errcode.New(errcode.Unavailable, "browser login is disabled on this hub")
	}
	made, err := s.Trials.Try(ctx, s.Caller(ctx), providerOf(r.Msg.GetProvider()), r.Msg.ClientSecret)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.TryProviderResponse{Url: made.URL, CallbackUrl: made.Callback, ExpiresAt: made.ExpiresAt}), nil
}

var providerFields = map[string]func(p *account.Provider, m *hubv1.Provider){
	"title":            func(p *account.Provider, m *hubv1.Provider) { p.Title = m.GetTitle() },
	"client_id":        func(p *account.Provider, m *hubv1.Provider) { p.ClientID = m.GetClientId() },
	"scopes":           func(p *account.Provider, m *hubv1.Provider) { p.Scopes = m.GetScopes() },
	"groups_claim":     func(p *account.Provider, m *hubv1.Provider) { p.GroupsClaim = m.GetGroupsClaim() },
	"groups":           func(p *account.Provider, m *hubv1.Provider) { p.Groups = m.GetGroups() },
	"email_domains":    func(p *account.Provider, m *hubv1.Provider) { p.EmailDomains = m.GetEmailDomains() },
	"allow_unverified": func(p *account.Provider, m *hubv1.Provider) { p.AllowUnverified = m.GetAllowUnverified() },
	"ca_pem":           func(p *account.Provider, m *hubv1.Provider) { p.CAPEM = m.GetCaPem() },
}

// Update implements hubv1connect.ProvidersHandler.
func (s *API) Update(ctx context.Context, r *connect.Request[hubv1.UpdateProviderRequest]) (*connect.Response[hubv1.Provider], error) {
	m := r.Msg.GetProvider()
	for _, field := range r.Msg.GetSet() {
		if providerFields[field] == nil {
			return nil, errcode.New(errcode.Invalid, "a provider has no field %.60q that can be set", field)
		}
	}
	if iss := m.GetIssuer(); iss != "" {
		return nil, errcode.New(errcode.Invalid, "the issuer of a provider cannot be changed, because its accounts have other names; delete this provider and create a new one")
	}
	changed, err := s.Accounts.UpdateProvider(ctx, s.Caller(ctx), m.GetName(), r.Msg.ClientSecret, func(p *account.Provider) {
		for _, field := range slices.Compact(slices.Sorted(slices.Values(r.Msg.GetSet()))) {
			providerFields[field](p, m)
		}
	})
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(s.provider(changed)), nil
}

// Delete implements hubv1connect.ProvidersHandler.
func (s *API) Delete(ctx context.Context, r *connect.Request[hubv1.DeleteProviderRequest]) (*connect.Response[hubv1.DeleteProviderResponse], error) {
	return connect.NewResponse(&hubv1.DeleteProviderResponse{}), s.Accounts.DeleteProvider(ctx, s.Caller(ctx), r.Msg.GetName())
}
