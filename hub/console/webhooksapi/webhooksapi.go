// Package webhooksapi serves the API calls about webhooks. hub/console authorizes the
// callers and registers it; hub/webhook makes and checks webhooks.
package webhooksapi

import (
	"context"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/console/management"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/clock"
)

// API implements the calls. All fields are required.
type API struct {
	Webhooks gitcache.Webhooks
	// Repositories returns all repositories, and Find one by its name or URL.
	Repositories func(ctx context.Context) ([]gitcache.Repository, error)
	Find         func(ctx context.Context, name string) (gitcache.Repository, error)
	// Readable returns what the caller may read, and Scope where a webhook is.
	Readable func(ctx context.Context) (identity.Reach, error)
	Scope    func(w gitcache.Webhook, repositories []gitcache.Repository) identity.Scope
	// URL is the address to which a webhook's deliveries go.
	URL func(gitcache.Webhook) string
}

var _ hubv1connect.WebhooksHandler = (*API)(nil)

func (s *API) one(w gitcache.Webhook, repositories map[string]string) *hubv1.Webhook {
	return &hubv1.Webhook{
		Id: w.ID, Name: w.Name, Provider: string(w.Provider), Repository: repositories[w.RepositoryID], Url: s.URL(w),
		CreatedAt: clock.Micros(w.CreatedAt), DeliveredAt: clock.Micros(w.DeliveredAt), Outcome: w.Outcome, ManagedBy: management.Out(w.ManagedBy),
	}
}

// List implements hubv1connect.WebhooksHandler.
func (s *API) List(ctx context.Context, _ *connect.Request[hubv1.ListWebhooksRequest]) (*connect.Response[hubv1.ListWebhooksResponse], error) {
	all, err := s.Webhooks.Webhooks(ctx)
	if err != nil {
		return nil, err
	}
	repositories, err := s.Repositories(ctx)
	if err != nil {
		return nil, err
	}
	reach, err := s.Readable(ctx)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, r := range repositories {
		names[r.ID] = r.Name
	}
	out := &hubv1.ListWebhooksResponse{}
	for _, w := range all {
		if !reach.Covers(s.Scope(w, repositories)) {
			continue
		}
		out.Webhooks = append(out.Webhooks, s.one(w, names))
	}
	return connect.NewResponse(out), nil
}

// Create implements hubv1connect.WebhooksHandler.
func (s *API) Create(ctx context.Context, r *connect.Request[hubv1.CreateWebhookRequest]) (*connect.Response[hubv1.CreatedWebhook], error) {
	w := gitcache.Webhook{Name: r.Msg.GetName(), Provider: gitcache.Provider(r.Msg.GetProvider()), ManagedBy: managed.Created(ctx)}
	names := map[string]string{}
	if name := r.Msg.GetRepository(); name != "" {
		have, err := s.Find(ctx, name)
		if err != nil {
			return nil, err
		}
		w.RepositoryID = have.ID
		names[have.ID] = have.Name
	}
	made, secret, err := s.Webhooks.Create(ctx, w, r.Msg.GetSecret())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.CreatedWebhook{Webhook: s.one(made, names), Secret: secret}), nil
}

// Delete implements hubv1connect.WebhooksHandler.
func (s *API) Delete(ctx context.Context, r *connect.Request[hubv1.DeleteWebhookRequest]) (*connect.Response[hubv1.DeleteWebhookResponse], error) {
	return connect.NewResponse(&hubv1.DeleteWebhookResponse{}), s.Webhooks.DeleteWebhook(ctx, r.Msg.GetName())
}
