package console

import (
	"context"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// scoped is a sink or a router.
type scoped interface{ Scope() identity.Scope }

// toldPermission is an action on a sink or a router. One of no project is in the hub as a
// whole: only bindings of the whole hub cover it.
func toldPermission(action identity.Action, at scoped, project, noun, name string) permission {
	n := permission{
		action: action, scope: at.Scope(), what: "notification " + noun + " " + name,
		missing: errcode.New(errcode.NotFound, "notification %s %.80q does not exist; axle notifications %ss list shows the existing ones", noun, name, noun),
	}
	if project != "" {
		n.flag = flag("project", project)
	}
	return n
}

func (s *Server) sinkPermission(ctx context.Context, action identity.Action, name string) (permission, error) {
	sink, err := s.config.Notifier.Sink(ctx, name)
	return toldPermission(action, sink, sink.Project, "sink", name), err
}

func (s *Server) routerPermission(ctx context.Context, action identity.Action, name string) (permission, error) {
	router, err := s.config.Notifier.Router(ctx, name)
	return toldPermission(action, router, router.Project, "router", name), err
}

func ofSink(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	n, err := s.sinkPermission(ctx, action, message.(interface{ GetName() string }).GetName())
	return one(n, err)
}

func ofRouter(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	n, err := s.routerPermission(ctx, action, message.(interface{ GetName() string }).GetName())
	return one(n, err)
}

// ofAppliedSink needs the sink that exists, and the project that the request names: to
// send out of a project is to write it.
func ofAppliedSink(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	m := message.(*hubv1.ApplyNotificationSinkRequest)
	at, err := s.sinkPermission(ctx, action, m.GetName())
	return s.appliedTo(ctx, action, m.GetSettings().GetProject(), at, err)
}

// ofAppliedRouter also needs each sink: a router makes messages in it.
func ofAppliedRouter(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	m := message.(*hubv1.ApplyNotificationRouterRequest)
	at, err := s.routerPermission(ctx, action, m.GetName())
	permissions, err := s.appliedTo(ctx, action, m.GetSettings().GetProject(), at, err)
	for _, name := range m.GetSettings().GetSinks() {
		if err != nil {
			break
		}
		var sink permission
		sink, err = s.sinkPermission(ctx, action, name)
		var more []permission
		more, err = one(sink, err)
		permissions = append(permissions, more...)
	}
	return permissions, err
}

// appliedTo are the needs of a declaration: the object if it exists, and its project.
func (s *Server) appliedTo(ctx context.Context, action identity.Action, project string, at permission, err error) ([]permission, error) {
	if err != nil && !errcode.Is(err, errcode.NotFound) {
		return nil, err
	}
	permissions := needed(err == nil, at)
	in := permission{action: action, what: "the hub as a whole"}
	if project != "" {
		if in, err = s.projectPermission(ctx, action, project); err != nil {
			_, err = one(in, err)
			return permissions, err
		}
	}
	return append(permissions, in), nil
}
