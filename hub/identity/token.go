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
	// TokenSession is a browser's session, good as a cookie alone.
	TokenSession TokenKind = "session"
	// TokenCLI is what a login of the command line gave.
	TokenCLI TokenKind = "cli"
	// TokenFederated was exchanged for a token of another issuer; it makes no
	// others.
	TokenFederated TokenKind = "federated"
)

const (
	// apiLifetime is what an API token lives when nobody asks for less: long
	// enough for a quarter, short enough that a forgotten one ends.
	apiLifetime = 90 * 24 * time.Hour
	// maxLifetime bounds what may be asked for.
	maxLifetime = 366 * 24 * time.Hour
	// deployLifetime is how long a deploy token lives; agents renew at half.
	deployLifetime = 24 * time.Hour
	// bootstrapLifetime is how long a bootstrap token waits to be used.
	bootstrapLifetime = 24 * time.Hour
	// fixedLifetime is the same for one fixed to a cluster, which is used at
	// once by the command that asked for it.
	fixedLifetime = time.Hour
	// setupLifetime bounds how long a fresh hub can be taken over by whoever
	// reads its data folder or first lines; the hub makes a new one when it
	// ran out, and at its next start.
	setupLifetime = 24 * time.Hour
	// resetLifetime is how long somebody has to choose a new password: whoever
	// asks for it sits at the hub's machine.
	resetLifetime = time.Hour
)

// Token is a credential without its secret.
type Token struct {
	ID   string
	Kind TokenKind
	// Hash is the SHA-256 of the bearer.
	Hash []byte
	Name string
	// OwnerID and OwnerName say whose it is; for a bootstrap token, who made
	// it.
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
	// ClusterID is the cluster of a deploy token, or that a bootstrap token
	// is fixed to; ClusterName is its name.
	ClusterID   string
	ClusterName string
	// EndsWith is the token that made this one and whose end is its end too,
	// or the trust that a federated one was exchanged by; empty for one that
	// stands by itself.
	EndsWith string
	// Origin is nil for a token that was made with no other.
	Origin *Origin
	// Bootstrap is set for bootstrap tokens alone.
	Bootstrap *BootstrapTerms
}

// BootstrapTerms are the limits of a bootstrap token.
type BootstrapTerms struct {
	// ProjectID is where clusters go; Project its name.
	ProjectID string `json:"projectId,omitempty"`
	Project   string `json:"project,omitempty"`
	// NamePattern is a glob (path.Match) for names; empty allows any.
	NamePattern string `json:"namePattern,omitempty"`
	// AllowedTags are the tags that a cluster may ask for; "*" as value
	// allows any. Tags outside are refused.
	AllowedTags map[string]string `json:"allowedTags,omitempty"`
	// MaxUses and UsesLeft count registrations.
	MaxUses  int `json:"maxUses"`
	UsesLeft int `json:"usesLeft"`
	// NeedsApproval makes clusters Pending.
	NeedsApproval bool `json:"needsApproval,omitempty"`
}

// CreatedToken is a token with its secret, which is not kept.
type CreatedToken struct {
	Token
	// Secret is the bearer, shown once.
	Secret string
}

// TokenRequest asks for an API token.
type TokenRequest struct {
	Name string
	// Scopes default to the caller's own and cannot exceed them.
	Scopes []string
	// Lifetime defaults to 90 days, at most 366, and to what the maker has left
	// when that is less.
	Lifetime time.Duration
}

// BootstrapRequest asks for a bootstrap token.
type BootstrapRequest struct {
	// ProjectID and Project say where clusters go.
	ProjectID, Project string
	NamePattern        string
	AllowedTags        map[string]string
	// MaxUses defaults to 1.
	MaxUses int
	// Lifetime defaults to 24 h, 1 h with ClusterID.
	Lifetime time.Duration
	// Approved says that clusters need no approval although the token may be
	// used more than once.
	Approved bool
	// ClusterID and ClusterName fix the token to a cluster that exists.
	ClusterID, ClusterName string
}
