package console

import (
	"context"
	"net/http"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/console/providersapi"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/address"
	"github.com/axle-cd/axle/internal/errcode"
)

// People logs people in; hub/login implements it.
type People interface {
	// Session finds the session of a browser's call. ok is false when it has none.
	Session(ctx context.Context, header http.Header) (p identity.Principal, ok bool, err error)
	providersapi.Trials
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
	return connect.NewResponse(&hubv1.EndSessionResponse{}), s.config.Accounts.EndSession(ctx, caller(ctx), r.Msg.GetId())
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
	return connect.NewResponse(&hubv1.UnlinkResponse{}), s.config.Accounts.Unlink(ctx, caller(ctx), r.Msg.GetUser())
}
