package declare

import (
	"context"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

// sinks are destinations of notifications.
type sinks struct{}

func foundSink(s *hubv1.NotificationSink) *Found {
	return &Found{ID: s.GetId(), Message: s, By: s.GetManagedBy()}
}

// Read implements Kind.
func (sinks) Read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*Found, error) {
	have, err := c.NotificationSinks.Get(ctx, connect.NewRequest(&hubv1.GetNotificationSinkRequest{Name: item.Name}))
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	return foundSink(have.Msg), nil
}

// Same cannot see the URL and the key.
func (sinks) Same(_ *sdk.Client, item *manifest.Item, have *Found) bool {
	s, want := have.Message.(*hubv1.NotificationSink), item.Request.(*hubv1.ApplyNotificationSinkRequest)
	settings := proto.CloneOf(want.GetSettings())
	settings.Users, settings.Groups = ordered(settings.GetUsers()), ordered(settings.GetGroups())
	return proto.Equal(s.GetSettings(), settings) && !(s.GetSigned() && want.GetUnsigned())
}

// Write implements Kind.
func (sinks) Write(ctx context.Context, c *sdk.Client, item *manifest.Item, _ *Found) (*Found, error) {
	request := proto.CloneOf(item.Request.(*hubv1.ApplyNotificationSinkRequest))
	request.Management = item.Management
	answer, err := c.NotificationSinks.Apply(ctx, connect.NewRequest(request))
	if err != nil {
		return nil, err
	}
	return foundSink(answer.Msg.GetSink()), nil
}

// Remove implements Kind.
func (ss sinks) Remove(ctx context.Context, c *sdk.Client, name string, by *hubv1.Manager) error {
	have, err := ss.Read(ctx, c, &manifest.Item{Name: name})
	if have == nil {
		return err
	}
	if err := ours(have.By, by); err != nil {
		return err
	}
	_, err = c.NotificationSinks.Delete(ctx, connect.NewRequest(&hubv1.DeleteNotificationSinkRequest{Name: name, Management: &hubv1.Management{By: by}}))
	return ignoreNotFound(err)
}

// Managed implements Kind.
func (sinks) Managed(ctx context.Context, c *sdk.Client, by *hubv1.Manager) ([]string, error) {
	list, err := c.NotificationSinks.List(ctx, connect.NewRequest(&hubv1.ListNotificationSinksRequest{}))
	if err != nil {
		return nil, err
	}
	return managedBy(list.Msg.GetSinks(), by), nil
}

// routers say which events go to which sinks.
type routers struct{}

func foundRouter(r *hubv1.NotificationRouter) *Found {
	return &Found{ID: r.GetId(), Message: r, By: r.GetManagedBy()}
}

// Read implements Kind.
func (routers) Read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*Found, error) {
	have, err := c.NotificationRouters.Get(ctx, connect.NewRequest(&hubv1.GetNotificationRouterRequest{Name: item.Name}))
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	return foundRouter(have.Msg), nil
}

// Same implements Kind.
func (routers) Same(_ *sdk.Client, item *manifest.Item, have *Found) bool {
	settings := proto.CloneOf(item.Request.(*hubv1.ApplyNotificationRouterRequest).GetSettings())
	settings.Events, settings.Sinks = ordered(settings.GetEvents()), ordered(settings.GetSinks())
	return proto.Equal(have.Message.(*hubv1.NotificationRouter).GetSettings(), settings)
}

// Write implements Kind.
func (routers) Write(ctx context.Context, c *sdk.Client, item *manifest.Item, _ *Found) (*Found, error) {
	request := proto.CloneOf(item.Request.(*hubv1.ApplyNotificationRouterRequest))
	request.Management = item.Management
	answer, err := c.NotificationRouters.Apply(ctx, connect.NewRequest(request))
	if err != nil {
		return nil, err
	}
	return foundRouter(answer.Msg.GetRouter()), nil
}

// Remove implements Kind.
func (rs routers) Remove(ctx context.Context, c *sdk.Client, name string, by *hubv1.Manager) error {
	have, err := rs.Read(ctx, c, &manifest.Item{Name: name})
	if have == nil {
		return err
	}
	if err := ours(have.By, by); err != nil {
		return err
	}
	_, err = c.NotificationRouters.Delete(ctx, connect.NewRequest(&hubv1.DeleteNotificationRouterRequest{Name: name, Management: &hubv1.Management{By: by}}))
	return ignoreNotFound(err)
}

// Managed implements Kind.
func (routers) Managed(ctx context.Context, c *sdk.Client, by *hubv1.Manager) ([]string, error) {
	list, err := c.NotificationRouters.List(ctx, connect.NewRequest(&hubv1.ListNotificationRoutersRequest{}))
	if err != nil {
		return nil, err
	}
	return managedBy(list.Msg.GetRouters(), by), nil
}

// ordered is a list as the hub keeps it.
func ordered(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
