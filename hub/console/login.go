package console

import (
	"context"
	"net/http"
	"slices"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/console/management"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/address"
	"github.com/axle-cd/axle/internal/errcode"
)

// People finds the session of a browser's call; hub/login implements it. ok is
// false when the call has none.
type People interface {
	Session(ctx context.Context, header http.Header) (p identity.Principal, ok bool, err error)
}

// bySession authenticates a call by its session cookie, as recognise does by
// token. It returns Unauthorized when there is no session either.
func (s *Server) bySession(ctx context.Context, header http.Header) (p identity.Principal, err error) {
	none := errcode.New(errcode.Unauthorized, "no token; log in first")
	if s.config.People == nil || len(header["Authorization"]) > 0 {
		return p, none
	}
	seen, err := event.ParsePosition(header.Get(seenHeader))
	if err != nil {
		return p, err
	}
	signedOut := false
	session := func(ctx context.Context) (err error) {
		ok := false
		if p, ok, err = s.config.People.Session(ctx, header); err == nil && !ok {
			signedOut, err = true, none
		}
		return err
	}
	if err = s.config.Feed.CatchUp(ctx, seen, session); err == nil {
		err = session(ctx)
	}
	if signedOut {
		err = none
	}
	return p, err
}

type logins struct{ *Server }

func (s *logins) Trade(ctx context.Context, r *connect.Request[hubv1.TradeCodeRequest]) (*connect.Response[hubv1.CreatedToken], error) {
	made, err := s.config.Accounts.ExchangeCode(ctx, r.Msg.GetCode(), r.Msg.GetVerifier())
	if err != nil {
		return nil, err
	}
	noteCaller(ctx, made.Principal())
	return createdToken(made), nil
}

func (s *logins) StartDevice(ctx context.Context, r *connect.Request[hubv1.StartDeviceRequest]) (*connect.Response[hubv1.StartDeviceResponse], error) {
	started, err := s.config.Accounts.StartDevice(ctx, address.Host(r.Peer().Addr), account.CLIRequest{
		Client: r.Msg.GetClient(), Scopes: r.Msg.GetScopes(), Lifetime: micros(r.Msg.GetLifetimeMicros()),
	})
	if err != nil {
		return nil, err
	}
	shown := account.ShowUserCode(started.UserCode)
	return connect.NewResponse(&hubv1.StartDeviceResponse{
		DeviceCode: started.Code, UserCode: shown, VerificationUrl: s.config.ExternalURL + "/device", VerificationUrlComplete: s.config.ExternalURL + "/device?code=" + shown,
		ExpiresAt: started.ExpiresAt, IntervalMicros: started.Interval,
	}), nil
}

func (s *logins) PollDevice(ctx context.Context, r *connect.Request[hubv1.PollDeviceRequest]) (*connect.Response[hubv1.PollDeviceResponse], error) {
	phase, wait, made, err := s.config.Accounts.PollDevice(ctx, r.Msg.GetDeviceCode())
	if err != nil {
		return nil, err
	}
	out := &hubv1.PollDeviceResponse{Phase: string(phase), IntervalMicros: wait.Microseconds()}
	if phase == account.DeviceDone {
		out.Token = createdToken(made).Msg
		if s.config.Audit != nil {
			s.config.Audit.Add(ctx, audit.Record{
				Actor: made.OwnerName, ActorKind: string(made.OwnerKind), ActorID: made.OwnerID, TokenID: made.ID, Source: address.Host(r.Peer().Addr),
				Action: r.Spec().Procedure, Kind: "token", Name: made.Name, Result: audit.ResultOK,
			})
		}
	}
	return connect.NewResponse(out), nil
}

// userID returns the id of a user by e-mail; an empty e-mail gives an empty id.
func (s *logins) userID(ctx context.Context, name string) (string, error) {
	if name == "" || name == caller(ctx).Name {
		return "", nil
	}
	if err := s.config.Identity.Authorize(ctx, caller(ctx), identity.ActionAdmin, identity.Scope{}); err != nil {
		return "", errcode.New(errcode.Forbidden, "only an administrator may manage the sessions of other users: %w", err)
	}
	user, err := s.config.Identity.UserByName(ctx, name)
	return user.ID, err
}

func (s *logins) ListSessions(ctx context.Context, r *connect.Request[hubv1.ListSessionsRequest]) (*connect.Response[hubv1.ListSessionsResponse], error) {
	id, err := s.userID(ctx, r.Msg.GetUser())
	if err != nil {
		return nil, err
	}
	all, err := s.config.Accounts.Sessions(ctx, caller(ctx), id)
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListSessionsResponse{}
	for _, x := range all {
		out.Sessions = append(out.Sessions, &hubv1.Session{
			Id: x.ID, Kind: string(x.Kind), Name: x.Name, Source: x.Source, Agent: x.Agent,
			CreatedAt: x.CreatedAt, LastUsedAt: x.LastUsedAt, ExpiresAt: x.ExpiresAt, Current: x.ID == caller(ctx).TokenID,
		})
	}
	return connect.NewResponse(out), nil
}

func (s *logins) EndSession(ctx context.Context, r *connect.Request[hubv1.EndSessionRequest]) (*connect.Response[hubv1.EndSessionResponse], error) {
	if err := s.config.Accounts.EndSession(ctx, caller(ctx), r.Msg.GetId()); err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.EndSessionResponse{}), nil
}

func (s *logins) EndSessions(ctx context.Context, r *connect.Request[hubv1.EndSessionsRequest]) (*connect.Response[hubv1.EndSessionsResponse], error) {
	id, err := s.userID(ctx, r.Msg.GetUser())
	if err != nil {
		return nil, err
	}
	n, err := s.config.Accounts.EndSessions(ctx, caller(ctx), id, r.Msg.GetTokens())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.EndSessionsResponse{Ended: int32(n)}), nil
}

func (s *logins) Unlink(ctx context.Context, r *connect.Request[hubv1.UnlinkRequest]) (*connect.Response[hubv1.UnlinkResponse], error) {
	if err := s.config.Accounts.Unlink(ctx, caller(ctx), r.Msg.GetUser()); err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.UnlinkResponse{}), nil
}

type providers struct{ *Server }

func (s *providers) provider(p account.Provider) *hubv1.Provider {
	return &hubv1.Provider{
		Id: p.ID, Name: p.Name, Title: p.Title, Issuer: p.Issuer, ClientId: p.ClientID, Scopes: p.Scopes, GroupsClaim: p.GroupsClaim, Groups: p.Groups,
		EmailDomains: p.EmailDomains, AllowUnverified: p.AllowUnverified, CaPem: p.CAPEM, CreatedAt: p.CreatedAt, CallbackUrl: s.config.ExternalURL + p.CallbackPath(), LogoutUrl: s.config.ExternalURL + p.LogoutPath(), ManagedBy: management.Out(p.ManagedBy),
	}
}

func (s *providers) List(ctx context.Context, _ *connect.Request[hubv1.ListProvidersRequest]) (*connect.Response[hubv1.ListProvidersResponse], error) {
	all, err := s.config.Accounts.Providers(ctx)
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListProvidersResponse{}
	for _, p := range all {
		out.Providers = append(out.Providers, s.provider(p))
	}
	return connect.NewResponse(out), nil
}

func (s *providers) Create(ctx context.Context, r *connect.Request[hubv1.CreateProviderRequest]) (*connect.Response[hubv1.Provider], error) {
	m := r.Msg.GetProvider()
	made, err := s.config.Accounts.CreateProvider(ctx, caller(ctx), account.Provider{
		Name: m.GetName(), Title: m.GetTitle(), Issuer: m.GetIssuer(), ClientID: m.GetClientId(), Scopes: m.GetScopes(), GroupsClaim: m.GetGroupsClaim(),
		Groups: m.GetGroups(), EmailDomains: m.GetEmailDomains(), AllowUnverified: m.GetAllowUnverified(), CAPEM: m.GetCaPem(),
	}, r.Msg.GetClientSecret())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(s.provider(made)), nil
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

func (s *providers) Update(ctx context.Context, r *connect.Request[hubv1.UpdateProviderRequest]) (*connect.Response[hubv1.Provider], error) {
	m := r.Msg.GetProvider()
	for _, field := range r.Msg.GetSet() {
		if providerFields[field] == nil {
			return nil, errcode.New(errcode.Invalid, "a provider has no field %.60q that can be set", field)
		}
	}
	if iss := m.GetIssuer(); iss != "" {
		return nil, errcode.New(errcode.Invalid, "the issuer of a provider cannot be changed, because its accounts have other names; delete this provider and create a new one")
	}
	changed, err := s.config.Accounts.UpdateProvider(ctx, caller(ctx), m.GetName(), r.Msg.ClientSecret, func(p *account.Provider) {
		for _, field := range slices.Compact(slices.Sorted(slices.Values(r.Msg.GetSet()))) {
			providerFields[field](p, m)
		}
	})
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(s.provider(changed)), nil
}

func (s *providers) Delete(ctx context.Context, r *connect.Request[hubv1.DeleteProviderRequest]) (*connect.Response[hubv1.DeleteProviderResponse], error) {
	if err := s.config.Accounts.DeleteProvider(ctx, caller(ctx), r.Msg.GetName()); err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.DeleteProviderResponse{}), nil
}
