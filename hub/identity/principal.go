package identity

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"

	"github.com/axle-cd/axle/internal/pool"
)

// Kind is the type of a Principal.
type Kind string

// The kinds of callers.
const (
	KindUser           Kind = "user"
	KindServiceAccount Kind = "service_account"
	KindCluster        Kind = "cluster"
	KindSetup          Kind = "setup"
	KindBootstrap      Kind = "bootstrap"
)

// KindGroup is a subject of bindings that never calls by itself.
const KindGroup Kind = "group"

// AdminsGroup is a group that an administrator is in whose token has the scope admin,
// besides the hub's groups.
const AdminsGroup = "axle:admins"

// The scopes of API tokens; each includes those before it.
const (
	ScopeRead  = "read"
	ScopeWrite = "write"
	ScopeAdmin = "admin"
)

// Principal is an authenticated caller.
type Principal struct {
	Kind Kind
	// ID is the user's, service account's or cluster's id.
	ID string
	// Name is an e-mail, a service account's or a cluster's name.
	Name string
	// Groups are the names of the hub's groups that the caller is in, sorted.
	Groups []string
	// Admin may do everything that the token's scopes allow.
	Admin bool
	// Scopes of the token; empty for clusters.
	Scopes  []string
	TokenID string
	// TokenExpiresAt is microseconds since 1970 UTC; 0 means never.
	TokenExpiresAt int64
	// Session is set when the token is a browser's session.
	Session bool
	// Operator is set for a token of the operator.
	Operator bool
	// Project limits the caller to one project by id; empty means no limit.
	Project string
}

// Sharing returns the caller as pools know it. Administrators and the operator have the
// reserve.
func (p Principal) Sharing() pool.Caller {
	return pool.Caller{Name: string(p.Kind) + " " + p.ID, Project: p.Project, Reserved: p.Administers() || p.Operator}
}

// By returns the caller's name for events.
func (p Principal) By() string {
	switch p.Kind {
	case KindCluster:
		return "agent " + p.Name
	case KindSetup:
		return "setup"
	}
	return p.Name
}

// HasScope reports whether the token's scopes include the scope or one that
// implies it.
func (p Principal) HasScope(scope string) bool {
	return slices.Contains(p.Scopes, ScopeAdmin) || slices.Contains(p.Scopes, scope) || scope == ScopeRead && slices.Contains(p.Scopes, ScopeWrite)
}

// Administers reports whether the caller may do what administrators do: by the person,
// by the scopes of the token and everywhere.
func (p Principal) Administers() bool {
	return p.Admin && p.Project == "" && p.HasScope(ScopeAdmin)
}

// MayEnd returns nil when the scopes of the token allow to end a token of the same
// person: any token ends itself and those that it created, others need the scope write.
func (p Principal) MayEnd(t Token) error {
	if t.ID == p.TokenID || t.descends() && t.EndsWith == p.TokenID {
		return nil
	}
	return p.capped(ActionSelfChange)
}

type principalKey struct{}

// WithPrincipal returns a context that carries the caller.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// FromContext returns the caller that WithPrincipal stored.
func FromContext(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(Principal)
	return p, ok
}

// NewID returns a prefix with 130 random bits.
func NewID(prefix string) string { return prefix + strings.ToLower(rand.Text()) }
