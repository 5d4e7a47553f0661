package console

import (
	"context"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/console/management"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/clock"
)

type webhooks struct{ *Server }

func (s *webhooks) one(w gitcache.Webhook, repositories map[string]string) *hubv1.Webhook {
	return &hubv1.Webhook{
		Id: w.ID, Name: w.Name, Provider: string(w.Provider), Repository: repositories[w.RepositoryID], Url: s.config.ExternalURL + s.config.WebhookPath(w),
		CreatedAt: clock.Micros(w.CreatedAt), DeliveredAt: clock.Micros(w.DeliveredAt), Outcome: w.Outcome, ManagedBy: management.Out(w.ManagedBy),
	}
}

func (s *webhooks) List(ctx context.Context, _ *connect.Request[hubv1.ListWebhooksRequest]) (*connect.Response[hubv1.ListWebhooksResponse], error) {
	all, err := s.config.Webhooks.Webhooks(ctx)
	if err != nil {
		return nil, err
	}
	repositories, err := s.config.Cache.Repositories(ctx)
	if err != nil {
		return nil, err
	}
	reach, err := s.readable(ctx)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, r := range repositories {
		names[r.ID] = r.Name
	}
	out := &hubv1.ListWebhooksResponse{}
	for _, w := range all {
		if !reach.Covers(s.webhookScope(w, repositories)) {
			continue
		}
		out.Webhooks = append(out.Webhooks, s.one(w, names))
	}
	return connect.NewResponse(out), nil
}

func (s *webhooks) Create(ctx context.Context, r *connect.Request[hubv1.CreateWebhookRequest]) (*connect.Response[hubv1.CreatedWebhook], error) {
	w := gitcache.Webhook{Name: r.Msg.GetName(), Provider: gitcache.Provider(r.Msg.GetProvider()), ManagedBy: managed.Created(ctx)}
	names := map[string]string{}
	if name := r.Msg.GetRepository(); name != "" {
		have, err := (&repositories{s.Server}).find(ctx, name)
		if err != nil {
			return nil, err
		}
		w.RepositoryID = have.ID
		names[have.ID] = have.Name
	}
	made, secret, err := s.config.Webhooks.Create(ctx, w, r.Msg.GetSecret())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.CreatedWebhook{Webhook: s.one(made, names), Secret: secret}), nil
}

func (s *webhooks) Delete(ctx context.Context, r *connect.Request[hubv1.DeleteWebhookRequest]) (*connect.Response[hubv1.DeleteWebhookResponse], error) {
	if err := s.config.Webhooks.DeleteWebhook(ctx, r.Msg.GetName()); err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.DeleteWebhookResponse{}), nil
}
