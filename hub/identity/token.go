package identity

import (
	"time"

	"github.com/axle-cd/axle/hub/managed"
)

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

// OperatorTrust is what the tokens end with that the operator gets for those of its
// ServiceAccount. No trust has this id. Unlike those of a CI, they create tokens for other
// accounts: the operator writes them to Secrets.
const OperatorTrust = "operator:"

const (
	// APILifetime is the default life of an API token: long enough for a
	// quarter, short enough that a forgotten one ends.
	APILifetime = 90 * 24 * time.Hour
	// maxLifetime limits the requested life.
	maxLifetime = 366 * 24 * time.Hour
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
	// ManagedBy is who manages the token; nobody for one of before this field.
	ManagedBy managed.Manager `json:"managedBy,omitzero"`
	// NamePattern is a glob (path.Match) for names; empty allows any.
	NamePattern string `json:"namePattern,omitempty"`
	// AllowedTags are the tags that a cluster may request; "*" as value allows
	// any value. Other tags are refused.
	AllowedTags map[string]string `json:"allowedTags,omitempty"`
	// FleetWide is set when the maker may write the whole hub: then the allowed tags
	// count for all of it.
	FleetWide bool `json:"fleetWide,omitempty"`
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

// Expired reports whether the token is past its end.
func (t Token) Expired(now int64) bool { return t.ExpiresAt != 0 && now >= t.ExpiresAt }

// Idle reports whether a session was not used for so long that it ended.
func (t Token) Idle(now int64) bool {
	return now-max(t.CreatedAt, t.LastUsedAt) > sessionIdle.Microseconds()
}

// OfLogin reports whether the token came from a login, so that logging out
// everywhere ends it.
func (t Token) OfLogin() bool { return t.Kind == TokenSession || t.Kind == TokenCLI }

// descends reports whether the token ends with another token. A federated token
// ends with its trust, which revokes its tokens itself.
func (t Token) descends() bool { return t.EndsWith != "" && t.Kind != TokenFederated }

// Principal returns the caller that the token was created for.
func (t CreatedToken) Principal() Principal {
	return Principal{Kind: t.OwnerKind, ID: t.OwnerID, Name: t.OwnerName, Admin: t.OwnerAdmin, Scopes: t.Scopes, TokenID: t.ID, TokenExpiresAt: t.ExpiresAt}
}
