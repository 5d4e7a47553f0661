package console

import (
	"context"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/console/notifyapi"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/routes"
)

// notificationRules are the rules of the calls about notifications.
var notificationRules = map[string]rule{
	hubv1connect.NotificationSinksListProcedure:         {identity.ActionRead, anywhere},
	hubv1connect.NotificationSinksGetProcedure:          {identity.ActionRead, ofSink},
	hubv1connect.NotificationSinksApplyProcedure:        {identity.ActionWrite, ofAppliedSink},
	hubv1connect.NotificationSinksDeleteProcedure:       {identity.ActionWrite, ofSink},
	hubv1connect.NotificationSinksTestProcedure:         {identity.ActionWrite, ofSink},
	hubv1connect.NotificationRoutersListProcedure:       {identity.ActionRead, anywhere},
	hubv1connect.NotificationRoutersGetProcedure:        {identity.ActionRead, ofRouter},
	hubv1connect.NotificationRoutersApplyProcedure:      {identity.ActionWrite, ofAppliedRouter},
	hubv1connect.NotificationRoutersDeleteProcedure:     {identity.ActionWrite, ofRouter},
	hubv1connect.NotificationRoutersListEventsProcedure: {identity.ActionRead, anywhere},
	hubv1connect.NotificationsListProcedure:             {identity.ActionSelf, nil},
	hubv1connect.NotificationsMarkReadProcedure:         {identity.ActionSelfChange, nil},
}

// registerNotifications adds the routes of the services of notifications.
func (s *Server) registerNotifications(mux routes.Adder, records *recorder) {
	told := notifyapi.API{Notifier: s.config.Notifier, Readable: s.readable, Caller: caller}
	mux.Handle(handle[hubv1connect.NotificationSinksHandler](s, records, hubv1connect.NewNotificationSinksHandler, &notifyapi.Sinks{API: told}))
	mux.Handle(handle[hubv1connect.NotificationRoutersHandler](s, records, hubv1connect.NewNotificationRoutersHandler, &notifyapi.Routers{API: told}))
	mux.Handle(handle[hubv1connect.NotificationsHandler](s, records, hubv1connect.NewNotificationsHandler, &told))
}

// toldPermission is an action on a sink or a router. One of no project is in the hub as a
// whole: only bindings of the whole hub cover it.
func toldPermission(action identity.Action, scope identity.Scope, project, noun, name string) permission {
	n := permission{
		action: action, scope: scope, what: "notification " + noun + " " + name,
		missing: errcode.New(errcode.NotFound, "notification %s %.80q does not exist; axle notifications %ss list shows the existing ones", noun, name, noun),
	}
	if project != "" {
		n.flag = flag("project", project)
	}
	return n
}

func sinkNamed(ctx context.Context, s *Server, action identity.Action, name string) (permission, error) {
	sink, err := s.config.Notifier.Sink(ctx, name)
	return toldPermission(action, sink.Scope(), sink.Project, "sink", name), err
}

func routerNamed(ctx context.Context, s *Server, action identity.Action, name string) (permission, error) {
	router, err := s.config.Notifier.Router(ctx, name)
	return toldPermission(action, router.Scope(), router.Project, "router", name), err
}

func ofSink(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	return one(sinkNamed(ctx, s, action, message.(interface{ GetName() string }).GetName()))
}

func ofRouter(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	return one(routerNamed(ctx, s, action, message.(interface{ GetName() string }).GetName()))
}

// ofAppliedSink needs the sink that exists, and the project that the request names: to
// send out of a project is to write it.
func ofAppliedSink(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	m := message.(*hubv1.ApplyNotificationSinkRequest)
	at, err := sinkNamed(ctx, s, action, m.GetName())
	return appliedTo(ctx, s, m.GetSettings().GetProject(), at, err)
}

// ofAppliedRouter also needs each sink: a router makes messages in it.
func ofAppliedRouter(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	m := message.(*hubv1.ApplyNotificationRouterRequest)
	at, err := routerNamed(ctx, s, action, m.GetName())
	permissions, err := appliedTo(ctx, s, m.GetSettings().GetProject(), at, err)
	for _, name := range m.GetSettings().GetSinks() {
		var sink []permission
		if err == nil {
			sink, err = one(sinkNamed(ctx, s, action, name))
		}
		permissions = append(permissions, sink...)
	}
	return permissions, err
}

// appliedTo are the needs of a declaration: the object if it exists, and its project.
func appliedTo(ctx context.Context, s *Server, project string, at permission, err error) ([]permission, error) {
	if err != nil && !errcode.Is(err, errcode.NotFound) {
		return nil, err
	}
	permissions, in := needed(err == nil, at), permission{action: at.action, what: "the hub as a whole"}
	if project != "" {
		if in, err = s.projectPermission(ctx, at.action, project); err != nil {
			_, err = one(in, err)
			return permissions, err
		}
	}
	return append(permissions, in), nil
}
