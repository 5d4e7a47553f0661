package store

import (
	"context"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

var _ gitcache.WebhookStore = (*Store)(nil)

const (
	webhookColumns = "id, name, provider, repository_id, created_at, delivered_at, outcome"
	selectWebhook  = "SELECT " + webhookColumns + " FROM webhooks "
)

func scanWebhook(row scan) (w gitcache.Webhook, err error) {
	var created, delivered int64
	err = row(&w.ID, &w.Name, &w.Provider, &w.RepositoryID, &created, &delivered, &w.Outcome)
	w.CreatedAt, w.DeliveredAt = clock.FromMicros(created), clock.FromMicros(delivered)
	return w, err
}

// Webhooks returns all webhooks, sorted by name.
func (s *Store) Webhooks(ctx context.Context) ([]gitcache.Webhook, error) {
	return rowsOf(ctx, s, scanWebhook, selectWebhook+"ORDER BY name")
}

// WebhookSecret returns a webhook by ID, with its secret. errcode.NotFound.
func (s *Store) WebhookSecret(ctx context.Context, id string) (w gitcache.Webhook, secret string, err error) {
	sealed := ""
	w, found, err := rowOf(ctx, s, func(row scan) (gitcache.Webhook, error) {
		return scanWebhook(func(into ...any) error { return row(append(into, &sealed)...) })
	}, "SELECT "+webhookColumns+", secret FROM webhooks WHERE id = $1", id)
	if err != nil {
		return w, "", err
	}
	if !found {
		return w, "", errcode.New(errcode.NotFound, "there is no such webhook")
	}
	plain, err := s.sealer.Open(sealed, secretOfWebhook(id))
	return w, string(plain), err
}

// secretOfWebhook returns the purpose under which a secret is sealed.
func secretOfWebhook(id string) string { return "webhook " + id }

// CreateWebhook stores a new webhook. errcode.Conflict when the name is taken,
// errcode.NotFound when its repository does not exist.
func (s *Store) CreateWebhook(ctx context.Context, w gitcache.Webhook, secret string) (made gitcache.Webhook, err error) {
	sealed := s.sealer.Seal([]byte(secret), secretOfWebhook(w.ID))
	err = s.Write(ctx, func(ctx context.Context) error {
		if w.RepositoryID != "" {
			if _, err := s.Repository(ctx, w.RepositoryID); err != nil {
				return err
			}
		}
		created, err := s.execOne(ctx, `INSERT INTO webhooks (id, name, provider, repository_id, secret, created_at)
			VALUES ($1, $2, $3, $4, $5, {now}) ON CONFLICT DO NOTHING`, w.ID, w.Name, w.Provider, w.RepositoryID, sealed)
		if err != nil {
			return err
		}
		if !created {
			return errcode.New(errcode.Conflict, "a webhook named %q exists already; choose another name", w.Name)
		}
		made, _, err = rowOf(ctx, s, scanWebhook, selectWebhook+"WHERE id = $1", w.ID)
		return err
	})
	return made, err
}

// DeleteWebhook removes a webhook by name. errcode.NotFound.
func (s *Store) DeleteWebhook(ctx context.Context, name string) error {
	return s.Write(ctx, func(ctx context.Context) error {
		gone, err := s.execOne(ctx, "DELETE FROM webhooks WHERE name = $1", name)
		if err == nil && !gone {
			err = errcode.New(errcode.NotFound, "webhook %q does not exist; axle webhooks list shows all", name)
		}
		return err
	})
}

// NoteDelivery records the last verified delivery of a webhook.
func (s *Store) NoteDelivery(ctx context.Context, id, outcome string) error {
	return s.Write(ctx, func(ctx context.Context) error {
		_, err := s.exec(ctx, "UPDATE webhooks SET delivered_at = {now}, outcome = $2 WHERE id = $1", id, cleanText(outcome))
		return err
	})
}
