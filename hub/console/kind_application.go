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
)

// applicationActions are the rows of access for the clients of applications, whose other
// calls are those of all kinds; applicationScopes those of scopes.
var (
	applicationActions = map[string]identity.Action{
		hubv1connect.ApplicationClientsGetProcedure:    identity.ActionRead,
		hubv1connect.ApplicationClientsRotateProcedure: identity.ActionWrite,
	}
	applicationScopes = map[string]finder{
		hubv1connect.ApplicationClientsGetProcedure:    ofStored(described.Application),
		hubv1connect.ApplicationClientsRotateProcedure: ofStored(described.Application),
	}
)

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
