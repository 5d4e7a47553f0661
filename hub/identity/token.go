package identity

import "time"

// TokenKind says what a token is for.
type TokenKind string

// The kinds of tokens.
const (
	TokenAPI       TokenKind = "api"
	TokenDeploy    TokenKind = "deploy"
	TokenBootstrap TokenKind = "bootstrap"
	TokenSetup     TokenKind = "setup"
	// TokenReset lets one person choose a new password, once.
	TokenReset TokenKind = "reset"
	// TokenSession is a browser's session, valid only as a cookie.
	TokenSession TokenKind = "session"
	// TokenCLI comes from a login of the command line.
	TokenCLI TokenKind = "cli"
	// TokenFederated was exchanged for a token of another issuer; it cannot
	// create tokens.
	TokenFederated TokenKind = "federated"
)

const (
	// apiLifetime is the default life of an API token: long enough for a
	// quarter, short enough that a forgotten one ends.
	apiLifetime = 90 * 24 * time.Hour
	// maxLifetime limits the requested life.
	maxLifetime = 366 * 24 * time.Hour
	// deployLifetime is how long a deploy token lives; agents renew at half.
	deployLifetime = 24 * time.Hour
	// bootstrapLifetime is how long a bootstrap token can be used.
	bootstrapLifetime = 24 * time.Hour
	// fixedLifetime is the same for a token that is fixed to a cluster, which
	// the command that requested it uses at once.
	fixedLifetime = time.Hour
	// setupLifetime limits how long a fresh hub can be taken over by somebody
	// who reads its data folder or its first log lines. The hub creates a new
	// token when it expired, and at its next start.
	setupLifetime = 24 * time.Hour
	// resetLifetime is how long a person has to choose a new password: the
	// request comes from the hub's machine.
	resetLifetime = time.Hour
)

// Token is a credential without its secret.
type Token struct {
	ID   string
	Kind TokenKind
	// Hash is the SHA-256 of the bearer.
	Hash []byte
	Name string
	// OwnerID and OwnerName are the token's owner; for a bootstrap token, its
	// creator.
	OwnerID   string
	OwnerName string
	// OwnerKind and OwnerAdmin are the owner's, filled by reads.
	OwnerKind  Kind
	OwnerAdmin bool
	Scopes     []string
	// Times are microseconds since 1970 UTC; 0 is never.
	CreatedAt  int64
	ExpiresAt  int64
	LastUsedAt int64
	// ClusterID is the cluster of a deploy token, or the one that a bootstrap
	// token is fixed to; ClusterName is its name.
	ClusterID   string
	ClusterName string
	// EndsWith is the token that created this one and with which it ends, or
	// the trust that a federated token was exchanged through; empty for an
	// independent token.
	EndsWith string
	// Origin is nil for a token that was not created with another token.
	Origin *Origin
	// Bootstrap is set only for bootstrap tokens.
	Bootstrap *BootstrapTerms
}

// BootstrapTerms are the limits of a bootstrap token.
type BootstrapTerms struct {
	// ProjectID is the project of the clusters; Project is its name.
	ProjectID string `json:"projectId,omitempty"`
	Project   string `json:"project,omitempty"`
	// NamePattern is a glob (path.Match) for names; empty allows any.
	NamePattern string `json:"namePattern,omitempty"`
	// AllowedTags are the tags that a cluster may request; "*" as value allows
	// any value. Other tags are refused.
	AllowedTags map[string]string `json:"allowedTags,omitempty"`
	// MaxUses and UsesLeft count registrations.
	MaxUses  int `json:"maxUses"`
	UsesLeft int `json:"usesLeft"`
	// NeedsApproval makes clusters Pending.
	NeedsApproval bool `json:"needsApproval,omitempty"`
}

// CreatedToken is a token with its secret, which is not stored.
type CreatedToken struct {
	Token
	// Secret is the bearer, shown once.
	Secret string
}

// TokenRequest describes a wanted API token.
type TokenRequest struct {
	Name string
	// Scopes default to the caller's own and cannot exceed them.
	Scopes []string
	// Lifetime defaults to 90 days; it is limited to 366 days and to what the
	// creating token has left.
	Lifetime time.Duration
}

// BootstrapRequest describes a wanted bootstrap token.
type BootstrapRequest struct {
	// ProjectID and Project are the project of the clusters.
	ProjectID, Project string
	NamePattern        string
	AllowedTags        map[string]string
	// MaxUses defaults to 1.
	MaxUses int
	// Lifetime defaults to 24 h, 1 h with ClusterID.
	Lifetime time.Duration
	// Approved means that clusters need no approval although the token may be
	// used more than once.
	Approved bool
	// ClusterID and ClusterName fix the token to a cluster that exists.
	ClusterID, ClusterName string
}
