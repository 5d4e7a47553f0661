package record

import "time"

// Provider is who sends a webhook's deliveries; each signs in its own way.
type Provider string

// The providers.
const (
	GitHub    Provider = "github"
	GitLab    Provider = "gitlab"
	Gitea     Provider = "gitea" // Forgejo too
	Bitbucket Provider = "bitbucket"
	Azure     Provider = "azure"   // Azure DevOps
	Generic   Provider = "generic" // anything that can sign with HMAC-SHA-256
)

// Providers are all that there are, sorted.
func Providers() []Provider { return []Provider{Azure, Bitbucket, Generic, Gitea, GitHub, GitLab} }

// Webhook lets an upstream say that something was pushed, so that nobody has
// to wait for the next poll. A delivery never brings content; it only makes
// the repository's agent look.
type Webhook struct {
	// ID is part of the URL that the upstream calls, and no secret.
	ID       string
	Name     string // unique
	Provider Provider
	// RepositoryID is the one repository it may kick; empty is any whose URL
	// the delivery names.
	RepositoryID string
	CreatedAt    time.Time

	// DeliveredAt is the last verified delivery, to the minute; zero is never.
	DeliveredAt time.Time
	// Outcome says what came of it, for people.
	Outcome string
}
