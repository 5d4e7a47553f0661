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
	// Webhook lets an upstream say that something was pushed.
	Webhook = record.Webhook
	// Provider is who sends a webhook's deliveries.
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

// minSecret is the least length of a secret that somebody chose, in bytes.
const minSecret = 16

// WebhookStore keeps webhooks, their secrets sealed.
type WebhookStore interface {
	// Webhooks returns all of them, sorted by name.
	Webhooks(ctx context.Context) ([]Webhook, error)
	// WebhookSecret returns one by ID, with its secret. errcode.NotFound.
	WebhookSecret(ctx context.Context, id string) (Webhook, string, error)
	// CreateWebhook stores a new one. errcode.Conflict when the name is
	// taken, errcode.NotFound when its repository does not exist.
	CreateWebhook(ctx context.Context, w Webhook, secret string) (Webhook, error)
	// DeleteWebhook removes one by name. errcode.NotFound.
	DeleteWebhook(ctx context.Context, name string) error
	// NoteDelivery records the last verified delivery.
	NoteDelivery(ctx context.Context, id, outcome string) error
}

// Webhooks are the hub's webhooks.
type Webhooks struct{ WebhookStore }

// Create makes a webhook and returns its secret: the given one, else a new one.
// errcode.Invalid, errcode.Conflict, errcode.NotFound.
func (h Webhooks) Create(ctx context.Context, w Webhook, secret string) (Webhook, string, error) {
	if strings.TrimSpace(w.Name) == "" {
		return Webhook{}, "", errcode.New(errcode.Invalid, "webhook has no name; give it one")
	}
	if !slices.Contains(record.Providers(), w.Provider) {
		return Webhook{}, "", errcode.New(errcode.Invalid, "webhooks of %q are not known; choose one of %s", w.Provider, providerNames())
	}
	switch {
	case secret == "":
		secret = rand.Text()
	case len(secret) < minSecret:
		return Webhook{}, "", errcode.New(errcode.Invalid, "the webhook's secret has %d bytes; %d is the least", len(secret), minSecret)
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
