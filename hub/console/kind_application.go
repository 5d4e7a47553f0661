package console

import (
	"context"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	described "github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/objects"
	"github.com/axle-cd/axle/internal/errcode"
)

// applicationRules are those of the clients of applications, whose other calls are those of
// all kinds.
var applicationRules = map[string]rule{
	hubv1connect.ApplicationClientsGetProcedure:    {identity.ActionRead, ofStored(described.Application)},
	hubv1connect.ApplicationClientsRotateProcedure: {identity.ActionWrite, ofStored(described.Application)},
	// Readers of the project need not see the times of people's logins.
	hubv1connect.ApplicationClientsListLoginsProcedure: {identity.ActionWrite, ofStored(described.Application)},
	hubv1connect.ApplicationClientsEndLoginsProcedure:  {identity.ActionWrite, ofStored(described.Application)},
}

type applicationClients struct{ *Server }

// object is the application of a name, with what it refers to.
func (s *applicationClients) object(ctx context.Context, name string) (objects.Shown, error) {
	return s.stored().Object(ctx, described.Application, name)
}

// Get implements ApplicationClients.
func (s *applicationClients) Get(ctx context.Context, r *connect.Request[hubv1.GetApplicationClientRequest]) (*connect.Response[hubv1.ApplicationClient], error) {
	o, err := s.object(ctx, r.Msg.GetName())
	if err != nil {
		return nil, err
	}
	return s.answer(ctx, o)
}

// Rotate implements ApplicationClients.
func (s *applicationClients) Rotate(ctx context.Context, r *connect.Request[hubv1.RotateApplicationSecretRequest]) (*connect.Response[hubv1.ApplicationClient], error) {
	o, err := s.object(ctx, r.Msg.GetName())
	if err != nil {
		return nil, err
	}
	how := application.Rotation{Overlap: micros(r.Msg.GetOverlapMicros()), Now: r.Msg.GetNow()}
	if err := s.config.Applications.Rotate(ctx, caller(ctx).By(), o, how); err != nil {
		return nil, err
	}
	return s.answer(ctx, o)
}

func (s *applicationClients) answer(ctx context.Context, o objects.Shown) (*connect.Response[hubv1.ApplicationClient], error) {
	c, err := s.config.Applications.Status(ctx, o.ID)
	if err != nil {
		return nil, err
	}
	out := &hubv1.ApplicationClient{
		Name: o.Name, ClientId: c.ClientID, Issuer: c.Issuer, ServiceId: c.ServiceID, Delivered: c.ServiceID != "" && c.Wanted == c.Delivered, Message: c.Failure,
	}
	for _, one := range c.Secrets {
		out.Secrets = append(out.Secrets, &hubv1.ApplicationSecret{CreatedAt: one.CreatedAt, ReplacedAt: one.FormerAt, EndsAt: one.EndsAt})
	}
	return connect.NewResponse(out), nil
}

// SignIns are the logins of people to applications; hub/oidc implements it.
type SignIns interface {
	Logins(ctx context.Context, c application.Client) ([]application.Login, error)
	LoginsOf(ctx context.Context, userID string) ([]application.Login, error)
	EndLogins(ctx context.Context, by, clientID, userID string, forget bool) (int, error)
}

// client is the client of an application.
func (s *applicationClients) client(ctx context.Context, name string) (application.Client, error) {
	o, err := s.object(ctx, name)
	if err != nil {
		return application.Client{}, err
	}
	status, err := s.config.Applications.Status(ctx, o.ID)
	if err != nil {
		return application.Client{}, err
	}
	return s.config.Applications.Client(ctx, status.ClientID)
}

// ListLogins implements ApplicationClients.
func (s *applicationClients) ListLogins(ctx context.Context, r *connect.Request[hubv1.ListApplicationLoginsRequest]) (*connect.Response[hubv1.ListApplicationLoginsResponse], error) {
	c, err := s.client(ctx, r.Msg.GetName())
	if err != nil {
		return nil, err
	}
	return loginsOut(s.config.SignIns.Logins(ctx, c))
}

// EndLogins implements ApplicationClients.
func (s *applicationClients) EndLogins(ctx context.Context, r *connect.Request[hubv1.EndApplicationLoginsRequest]) (*connect.Response[hubv1.EndApplicationLoginsResponse], error) {
	c, err := s.client(ctx, r.Msg.GetName())
	if err != nil {
		return nil, err
	}
	all, err := s.config.SignIns.Logins(ctx, c)
	if err != nil {
		return nil, err
	}
	// Only administrators learn who has an account.
	for _, l := range all {
		if l.User == r.Msg.GetUser() {
			return ended(s.config.SignIns.EndLogins(ctx, caller(ctx).Name, c.ID, l.UserID, false))
		}
	}
	return nil, errcode.New(errcode.NotFound, "user: %.200q is not among those who logged in to %s last", r.Msg.GetUser(), r.Msg.GetName())
}

// ListApplications implements Logins.
func (s *logins) ListApplications(ctx context.Context, _ *connect.Request[hubv1.ListMyApplicationsRequest]) (*connect.Response[hubv1.ListApplicationLoginsResponse], error) {
	return loginsOut(s.config.SignIns.LoginsOf(ctx, caller(ctx).ID))
}

// LeaveApplication implements Logins.
func (s *logins) LeaveApplication(ctx context.Context, r *connect.Request[hubv1.LeaveApplicationRequest]) (*connect.Response[hubv1.EndApplicationLoginsResponse], error) {
	return ended(s.config.SignIns.EndLogins(ctx, caller(ctx).Name, r.Msg.GetClientId(), caller(ctx).ID, true))
}

func ended(n int, err error) (*connect.Response[hubv1.EndApplicationLoginsResponse], error) {
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.EndApplicationLoginsResponse{Ended: int32(n)}), nil
}

func loginsOut(all []application.Login, err error) (*connect.Response[hubv1.ListApplicationLoginsResponse], error) {
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListApplicationLoginsResponse{}
	for _, l := range all {
		out.Logins = append(out.Logins, &hubv1.ApplicationLogin{
			Application: l.Name, Title: l.Title, ClientId: l.Client, User: l.User, Scopes: l.Scopes, AgreedAt: l.AgreedAt, LastLoginAt: l.LastAt, Live: int32(l.Live),
		})
	}
	return connect.NewResponse(out), nil
}
