package gitcache

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/errcode"
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
	if strings.TrimSpace(w.Name) == "" {
		return Webhook{}, "", errcode.New(errcode.Invalid, "webhook has no name; give it one")
	}
	if !slices.Contains(record.Providers(), w.Provider) {
		return Webhook{}, "", errcode.New(errcode.Invalid, "webhooks of %q are not supported; choose one of %s", w.Provider, providerNames())
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

func providerNames() string {
	var names []string
	for _, p := range record.Providers() {
		names = append(names, string(p))
	}
	return strings.Join(names, ", ")
}
