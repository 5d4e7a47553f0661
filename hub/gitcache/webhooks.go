package gitcache

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/rule"
)

type (
	// Webhook lets an upstream notify the hub of a push.
	Webhook = record.Webhook
	// Provider is the sender of a webhook's deliveries.
	Provider = record.Provider
)

// The providers.
const (
	GitHub    = record.GitHub
	GitLab    = record.GitLab
	Gitea     = record.Gitea
	Bitbucket = record.Bitbucket
	Azure     = record.Azure
	Generic   = record.Generic
)

// minSecret is the minimum length of a secret that a person chose, in bytes.
const minSecret = 16

// WebhookStore stores webhooks, with their secrets sealed.
type WebhookStore interface {
	// Webhooks returns all webhooks, sorted by name.
	Webhooks(ctx context.Context) ([]Webhook, error)
	// WebhookSecret returns a webhook by ID, with its secret. errcode.NotFound.
	WebhookSecret(ctx context.Context, id string) (Webhook, string, error)
	// CreateWebhook stores a new webhook. errcode.Conflict when the name is
	// taken, errcode.NotFound when its repository does not exist.
	CreateWebhook(ctx context.Context, w Webhook, secret string) (Webhook, error)
	// DeleteWebhook removes a webhook by name. errcode.NotFound.
	DeleteWebhook(ctx context.Context, name string) error
	// NoteDelivery records the last verified delivery.
	NoteDelivery(ctx context.Context, id, outcome string) error
}

// Webhooks manages the hub's webhooks.
type Webhooks struct{ WebhookStore }

// Create creates a webhook and returns its secret: the given one, otherwise a
// new one. errcode.Invalid, errcode.Conflict, errcode.NotFound.
func (h Webhooks) Create(ctx context.Context, w Webhook, secret string) (Webhook, string, error) {
	if err := h.checkName(ctx, w.Name); err != nil {
		return Webhook{}, "", err
	}
	if !slices.Contains(rule.WebhookProviders, string(w.Provider)) {
		return Webhook{}, "", errcode.New(errcode.Invalid, "webhooks of %q are not supported; choose one of %s", w.Provider, strings.Join(rule.WebhookProviders, ", "))
	}
	switch {
	case secret == "":
		secret = rand.Text()
	case len(secret) < minSecret:
		return Webhook{}, "", errcode.New(errcode.Invalid, "the webhook's secret has %d bytes; give at least %d", len(secret), minSecret)
	}
	w.ID = "wh_" + strings.ToLower(rand.Text())
	made, err := h.CreateWebhook(ctx, w, secret)
	return made, secret, err
}

// checkName returns Invalid for a name that no new webhook has. One that was stored before
// the rule may be created again by who takes it over.
func (h Webhooks) checkName(ctx context.Context, name string) error {
	if rule.Name.Valid(name) {
		return nil
	}
	all, err := h.Webhooks(ctx)
	if err != nil || slices.ContainsFunc(all, func(w Webhook) bool { return w.Name == name }) {
		return err
	}
	return errcode.New(errcode.Invalid, "name: %.80q is not a name; use %s", name, rule.Name.Words)
}
