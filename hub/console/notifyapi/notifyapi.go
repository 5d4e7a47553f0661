// Package notifyapi implements the calls about notifications: it translates between the
// API and hub/notify, and shows only what the caller may read. hub/console registers it
// and checks access before.
package notifyapi

import (
	"context"
	"strings"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/console/management"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/notify"
)

// API implements the calls about a person's notifications. All fields are required.
type API struct {
	Notifier *notify.Notifier
	// Readable is what the caller may read, and Caller who that is.
	Readable func(ctx context.Context) (identity.Reach, error)
	Caller   func(ctx context.Context) identity.Principal
}

var (
	_ hubv1connect.NotificationsHandler       = (*API)(nil)
	_ hubv1connect.NotificationSinksHandler   = (*Sinks)(nil)
	_ hubv1connect.NotificationRoutersHandler = (*Routers)(nil)
)

func (s *API) by(ctx context.Context) string { return s.Caller(ctx).By() }

// readable are those of a list that the caller may read. What is of the hub as a whole is
// for those who may read all of it.
func readable[T interface{ Scope() identity.Scope }](ctx context.Context, s *API, all []T) (out []T, err error) {
	reach, err := s.Readable(ctx)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		if reach.Covers(one.Scope()) {
			out = append(out, one)
		}
	}
	return out, nil
}

// List implements hubv1connect.NotificationsHandler.
func (s *API) List(ctx context.Context, r *connect.Request[hubv1.ListNotificationsRequest]) (*connect.Response[hubv1.ListNotificationsResponse], error) {
	out := &hubv1.ListNotificationsResponse{}
	reach, err := s.Readable(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.Notifier.Inbox(ctx, s.Caller(ctx), reach, r.Msg.GetUnread(), int(r.Msg.GetLimit()))
	for _, m := range all {
		one := &hubv1.Notification{Id: m.ID, Sink: m.Sink, Priority: m.Priority, Title: m.Body.Title(), At: m.SentAt, Read: m.Read}
		var lines []string
		for _, n := range m.Body.Named {
			one.Event = n.Kind
			lines = append(lines, strings.TrimSuffix(n.Object+": "+n.Message, ": "))
		}
		one.Text = strings.Join(lines, "\n")
		out.Notifications = append(out.Notifications, one)
	}
	return connect.NewResponse(out), err
}

// MarkRead implements hubv1connect.NotificationsHandler.
func (s *API) MarkRead(ctx context.Context, r *connect.Request[hubv1.MarkNotificationsReadRequest]) (*connect.Response[hubv1.MarkNotificationsReadResponse], error) {
	return connect.NewResponse(&hubv1.MarkNotificationsReadResponse{}), s.Notifier.MarkRead(ctx, s.Caller(ctx), r.Msg.GetUpTo())
}

// Sinks implements the calls about sinks.
type Sinks struct{ API }

// List implements hubv1connect.NotificationSinksHandler.
func (s *Sinks) List(ctx context.Context, _ *connect.Request[hubv1.ListNotificationSinksRequest]) (*connect.Response[hubv1.ListNotificationSinksResponse], error) {
	all, err := s.Notifier.Sinks(ctx)
	if err != nil {
		return nil, err
	}
	if all, err = readable(ctx, &s.API, all); err != nil {
		return nil, err
	}
	out := &hubv1.ListNotificationSinksResponse{}
	for _, one := range all {
		out.Sinks = append(out.Sinks, sink(one))
	}
	return connect.NewResponse(out), nil
}

// Get implements hubv1connect.NotificationSinksHandler.
func (s *Sinks) Get(ctx context.Context, r *connect.Request[hubv1.GetNotificationSinkRequest]) (*connect.Response[hubv1.NotificationSink], error) {
	one, err := s.Notifier.Sink(ctx, r.Msg.GetName())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(sink(one)), nil
}

// Apply implements hubv1connect.NotificationSinksHandler.
func (s *Sinks) Apply(ctx context.Context, r *connect.Request[hubv1.ApplyNotificationSinkRequest]) (*connect.Response[hubv1.ApplyNotificationSinkResponse], error) {
	in := r.Msg.GetSettings()
	one, outcome, err := s.Notifier.ApplySink(ctx, s.by(ctx), notify.SinkRequest{
		Name: r.Msg.GetName(), Project: in.GetProject(), Type: notify.Type(in.GetType()), Priority: in.GetPriority(), Users: in.GetUsers(), Groups: in.GetGroups(),
		URL: r.Msg.GetUrl(), Secret: r.Msg.GetSecret(), Unsigned: r.Msg.GetUnsigned(), DryRun: r.Msg.GetDryRun(),
	})
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.ApplyNotificationSinkResponse{Sink: sink(one), Result: string(outcome)}), nil
}

// Delete implements hubv1connect.NotificationSinksHandler.
func (s *Sinks) Delete(ctx context.Context, r *connect.Request[hubv1.DeleteNotificationSinkRequest]) (*connect.Response[hubv1.DeleteNotificationSinkResponse], error) {
	return connect.NewResponse(&hubv1.DeleteNotificationSinkResponse{}), s.Notifier.DeleteSink(ctx, s.by(ctx), r.Msg.GetName())
}

// Test implements hubv1connect.NotificationSinksHandler.
func (s *Sinks) Test(ctx context.Context, r *connect.Request[hubv1.TestNotificationSinkRequest]) (*connect.Response[hubv1.TestNotificationSinkResponse], error) {
	answer, err := s.Notifier.Test(ctx, s.by(ctx), r.Msg.GetName())
	return connect.NewResponse(&hubv1.TestNotificationSinkResponse{Answer: answer}), err
}

func sink(s notify.Sink) *hubv1.NotificationSink {
	return &hubv1.NotificationSink{
		Id: s.ID, Name: s.Name, Host: s.Host, Signed: s.Signed, ManagedBy: management.Out(s.ManagedBy), DeclaredBy: s.DeclaredBy, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
		Settings: &hubv1.NotificationSinkSettings{Type: string(s.Type), Project: s.Project, Priority: s.Priority, Users: s.Users, Groups: s.UserGroups},
		State: &hubv1.NotificationSinkState{
			Waiting: s.Waiting, OldestAt: s.OldestAt, Sent: s.Sent, SentAt: s.SentAt, Failed: s.State.Failed, Dropped: s.Dropped, Error: s.Error, ErrorAt: s.ErrorAt,
		},
	}
}

// Routers implements the calls about routers.
type Routers struct{ API }

// List implements hubv1connect.NotificationRoutersHandler.
func (s *Routers) List(ctx context.Context, _ *connect.Request[hubv1.ListNotificationRoutersRequest]) (*connect.Response[hubv1.ListNotificationRoutersResponse], error) {
	all, err := s.Notifier.Routers(ctx)
	if err != nil {
		return nil, err
	}
	if all, err = readable(ctx, &s.API, all); err != nil {
		return nil, err
	}
	out := &hubv1.ListNotificationRoutersResponse{}
	for _, one := range all {
		out.Routers = append(out.Routers, router(one))
	}
	return connect.NewResponse(out), nil
}

// Get implements hubv1connect.NotificationRoutersHandler.
func (s *Routers) Get(ctx context.Context, r *connect.Request[hubv1.GetNotificationRouterRequest]) (*connect.Response[hubv1.NotificationRouter], error) {
	one, err := s.Notifier.Router(ctx, r.Msg.GetName())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(router(one)), nil
}

// Apply implements hubv1connect.NotificationRoutersHandler.
func (s *Routers) Apply(ctx context.Context, r *connect.Request[hubv1.ApplyNotificationRouterRequest]) (*connect.Response[hubv1.ApplyNotificationRouterResponse], error) {
	in := r.Msg.GetSettings()
	want := notify.Router{Name: r.Msg.GetName(), Project: in.GetProject(), Events: in.GetEvents(), Sinks: in.GetSinks()}
	for _, f := range in.GetFilters() {
		want.Filters = append(want.Filters, notify.Filter{Regex: f.GetRegex(), Service: f.GetService(), Cluster: f.GetCluster(), Pipeline: f.GetPipeline()})
	}
	one, outcome, err := s.Notifier.ApplyRouter(ctx, s.by(ctx), want, r.Msg.GetDryRun())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.ApplyNotificationRouterResponse{Router: router(one), Result: string(outcome)}), nil
}

// Delete implements hubv1connect.NotificationRoutersHandler.
func (s *Routers) Delete(ctx context.Context, r *connect.Request[hubv1.DeleteNotificationRouterRequest]) (*connect.Response[hubv1.DeleteNotificationRouterResponse], error) {
	return connect.NewResponse(&hubv1.DeleteNotificationRouterResponse{}), s.Notifier.DeleteRouter(ctx, s.by(ctx), r.Msg.GetName())
}

// ListEvents implements hubv1connect.NotificationRoutersHandler.
func (s *Routers) ListEvents(context.Context, *connect.Request[hubv1.ListNotificationEventsRequest]) (*connect.Response[hubv1.ListNotificationEventsResponse], error) {
	out := &hubv1.ListNotificationEventsResponse{}
	for _, e := range notify.Events {
		out.Events = append(out.Events, &hubv1.NotificationEvent{Name: e.Name, Description: e.Says, Kinds: e.Kinds})
	}
	return connect.NewResponse(out), nil
}

func router(r notify.Router) *hubv1.NotificationRouter {
	out := &hubv1.NotificationRouter{
		Id: r.ID, Name: r.Name, SilentEvents: notify.Silent(r.Events), ManagedBy: management.Out(r.ManagedBy), DeclaredBy: r.DeclaredBy, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		Settings: &hubv1.NotificationRouterSettings{Project: r.Project, Events: r.Events, Sinks: r.Sinks},
	}
	for _, f := range r.Filters {
		out.Settings.Filters = append(out.Settings.Filters, &hubv1.NotificationFilter{Regex: f.Regex, Service: f.Service, Cluster: f.Cluster, Pipeline: f.Pipeline})
	}
	return out
}
