package sources

import (
	"context"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/hub/store/sqldb"
	"github.com/axle-cd/axle/internal/errcode"
)

var (
	webhookTable   = rows.Of("webhooks", rows.Fields[gitcache.Webhook])
	selectWebhooks = webhookTable.Select()

	secretWebhookTable = rows.Of("webhooks", func(c *rows.Columns, w *secretWebhook) {
		rows.Col(c, "secret", &w.sealed)
		rows.Fields(c, w)
	})
	selectSecretWebhooks = secretWebhookTable.Select()
	changeWebhook        = secretWebhookTable.Only("id", "secret", "managed_by_tool", "managed_by_id").Update("id")
	insertWebhook        = secretWebhookTable.Except("created_at", "delivered_at", "outcome").Set("created_at", "{now}").Insert("ON CONFLICT DO NOTHING")
)

// secretWebhook is a webhook with its sealed secret.
type secretWebhook struct {
	gitcache.Webhook
	sealed string
}

// Webhooks returns all webhooks, sorted by name.
func (s *Table) Webhooks(ctx context.Context) ([]gitcache.Webhook, error) {
	return query.All(ctx, s.db, webhookTable.Reader(), selectWebhooks+"ORDER BY name")
}

// WebhookSecret returns a webhook by ID, with its secret. errcode.NotFound.
func (s *Table) WebhookSecret(ctx context.Context, id string) (w gitcache.Webhook, secret string, err error) {
	kept, found, err := query.One(ctx, s.db, secretWebhookTable.Reader(), selectSecretWebhooks+"WHERE id = $1", id)
	if err != nil {
		return w, "", err
	}
	if !found {
		return w, "", errcode.New(errcode.NotFound, "there is no such webhook")
	}
	plain, err := s.sealer().Open(kept.sealed, secretOfWebhook(id))
	return kept.Webhook, string(plain), err
}

// secretOfWebhook returns the purpose under which a secret is sealed.
func secretOfWebhook(id string) string { return "webhook " + id }

// CreateWebhook stores a new webhook. errcode.Conflict when the name is taken, unless
// the caller takes over that webhook, which then has the secret; errcode.NotFound when
// its repository does not exist.
func (s *Table) CreateWebhook(ctx context.Context, w gitcache.Webhook, secret string) (made gitcache.Webhook, err error) {
	sealed := s.sealer().Seal([]byte(secret), secretOfWebhook(w.ID))
	err = s.db.Write(ctx, func(ctx context.Context) error {
		if w.RepositoryID != "" {
			if _, err := s.Repository(ctx, w.RepositoryID); err != nil {
				return err
			}
		}
		if have, found, err := s.takeOverWebhook(ctx, w, secret); found || err != nil {
			made = have
			return err
		}
		created, err := insertWebhook.ExecOne(ctx, s.db, &secretWebhook{w, sealed})
		if err != nil {
			return err
		}
		if !created {
			return errcode.New(errcode.Conflict, "a webhook named %q exists already; choose another name", w.Name)
		}
		made, _, err = query.One(ctx, s.db, webhookTable.Reader(), selectWebhooks+"WHERE id = $1", w.ID)
		return err
	})
	return made, err
}

// takeOverWebhook makes the caller the manager of a webhook that exists, if the caller
// takes over, and reports whether there is one.
func (s *Table) takeOverWebhook(ctx context.Context, w gitcache.Webhook, secret string) (gitcache.Webhook, bool, error) {
	if !managed.CallerOf(ctx).TakeOver {
		return w, false, nil
	}
	have, found, err := query.One(ctx, s.db, webhookTable.Reader(), selectWebhooks+"WHERE name = $1", w.Name)
	if err != nil || !found {
		return w, false, err
	}
	if have.Provider != w.Provider || have.RepositoryID != w.RepositoryID {
		return have, true, errcode.New(errcode.Conflict, "webhook %q exists for another provider or repository; delete it first", w.Name)
	}
	if have.ManagedBy, err = managed.Write(ctx, "webhook "+w.Name, have.ManagedBy, true); err != nil {
		return have, true, err
	}
	_, err = changeWebhook.ExecOne(ctx, s.db, &secretWebhook{have, s.sealer().Seal([]byte(secret), secretOfWebhook(have.ID))})
	return have, true, err
}

// DeleteWebhook removes a webhook by name. errcode.NotFound.
func (s *Table) DeleteWebhook(ctx context.Context, name string) error {
	return s.db.Write(ctx, func(ctx context.Context) error {
		have, found, err := query.One(ctx, s.db, webhookTable.Reader(), selectWebhooks+"WHERE name = $1", name)
		if err == nil && !found {
			err = errcode.New(errcode.NotFound, "webhook %q does not exist; axle webhooks list shows all", name)
		}
		if err == nil {
			_, err = managed.Write(ctx, "webhook "+name, have.ManagedBy, true)
		}
		if err == nil {
			_, err = s.db.Exec(ctx, "DELETE FROM webhooks WHERE id = $1", have.ID)
		}
		return err
	})
}

// NoteDelivery records the last verified delivery of a webhook.
func (s *Table) NoteDelivery(ctx context.Context, id, outcome string) error {
	return s.db.Write(ctx, func(ctx context.Context) error {
		_, err := s.db.Exec(ctx, "UPDATE webhooks SET delivered_at = {now}, outcome = $2 WHERE id = $1", id, sqldb.CleanText(outcome))
		return err
	})
}
