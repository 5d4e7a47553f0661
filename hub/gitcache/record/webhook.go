package record

import (
	"time"

	"github.com/axle-cd/axle/hub/managed"
)

// Provider is the sender of a webhook's deliveries; each signs in its own way.
type Provider string

// The providers, which rule.WebhookProviders lists.
const (
	GitHub    Provider = "github"
	GitLab    Provider = "gitlab"
	Gitea     Provider = "gitea" // Forgejo too
	Bitbucket Provider = "bitbucket"
	Azure     Provider = "azure"   // Azure DevOps
	Generic   Provider = "generic" // anything that can sign with HMAC-SHA-256
)

// Webhook lets an upstream notify the hub of a push, so that users need not
// wait for the next poll. A delivery never carries content; it only triggers a
// fetch by the repository's agent.
type Webhook struct {
	// ID is part of the URL that the upstream calls, and not secret.
	ID       string
	Name     string // unique
	Provider Provider
	// RepositoryID is the one repository it may kick; empty allows any whose
	// URL the delivery names.
	RepositoryID string
	ManagedBy    managed.Manager
	CreatedAt    time.Time

	// DeliveredAt is the last verified delivery, to the minute; zero is never.
	DeliveredAt time.Time
	// Outcome describes its result, for people.
	Outcome string
}
