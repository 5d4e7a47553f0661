package oidc

import (
	"context"

	"github.com/axle-cd/axle/hub/identity"
)

// StoredKey is a signing key as it is stored.
type StoredKey struct {
	ID        string
	Algorithm string
	// Public is a JWK in JSON; Sealed is the private half.
	Public string
	Sealed string
	// SignsFrom is when it takes over, EndsAt when it is deleted; 0 while it is not replaced.
	CreatedAt, SignsFrom, EndsAt int64
}

// Grant is what a person allowed an application: one login there.
type Grant struct {
	ID       string
	ClientID string
	// UserID is empty for a client that acts for itself.
	UserID string
	// SessionID is that which the application knows, TokenID the hub's session.
	SessionID, TokenID string
	Scopes             []string
	// Nonce, Redirect and Challenge are those of the authorization.
	Nonce, Redirect, Challenge string
	// AuthAt is when the person gave a proof, Methods and Class how.
	AuthAt  int64
	Methods []string
	Class   string
	// EndsAt is the end of the last token that it may have.
	CreatedAt, EndsAt int64
}

// SecretKind is what a secret is.
type SecretKind string

// The kinds of secrets.
const (
	kindCode    SecretKind = "code"
	kindAccess  SecretKind = "access"
	kindRefresh SecretKind = "refresh"
)

// Secret is a code or a token of a grant.
type Secret struct {
	Hash    []byte
	Kind    SecretKind
	GrantID string
	Scopes  []string
	// UsedAt is 0 while a code or a refresh token was not used.
	CreatedAt, ExpiresAt, UsedAt int64
}

// Consent is what a person agreed to give an application.
type Consent struct {
	UserID, ClientID string
	Scopes           []string
	// GivenAt is 0 where only a device asked; LastAt is when the person logged in last.
	GivenAt, LastAt int64
}

// KeyStore stores signing keys.
type KeyStore interface {
	// SigninKeys returns all keys, in the order in which they sign.
	SigninKeys(ctx context.Context) ([]StoredKey, error)
	InsertSigninKey(ctx context.Context, k StoredKey) error
	// EndSigninKey sets when a key is deleted.
	EndSigninKey(ctx context.Context, id string, at int64) error
	// DeleteSigninKeys deletes those that ended.
	DeleteSigninKeys(ctx context.Context, now int64) error
}

// GrantStore stores grants and their secrets.
type GrantStore interface {
	InsertGrant(ctx context.Context, g Grant) error
	// Grant returns a grant, or NotFound.
	Grant(ctx context.Context, id string) (Grant, error)
	// ExtendGrant moves the end of a grant, never to an earlier time.
	ExtendGrant(ctx context.Context, id string, endsAt int64) error
	// DeleteGrants deletes grants with their secrets.
	DeleteGrants(ctx context.Context, ids []string) error
	// InsertGrantSecret adds a secret, and does nothing if there is one with its hash.
	InsertGrantSecret(ctx context.Context, s Secret) error
	// GrantSecret returns a secret, or NotFound.
	GrantSecret(ctx context.Context, hash []byte) (Secret, error)
	// UseGrantSecret marks a secret as used, and reports whether it was unused and has not expired.
	UseGrantSecret(ctx context.Context, hash []byte, now int64) (bool, error)
	// DeleteGrantSecret deletes one.
	DeleteGrantSecret(ctx context.Context, hash []byte) error
	// DropGrants deletes some of the secrets, grants and waiting devices that ended before, and returns how many.
	DropGrants(ctx context.Context, before int64, limit int) (int64, error)
}

// ConsentStore stores consents.
type ConsentStore interface {
	// Consent returns what a person agreed to; a zero one when they did not.
	Consent(ctx context.Context, userID, clientID string) (Consent, error)
	// PutConsent stores what a person agreed to, and leaves when they logged in last.
	PutConsent(ctx context.Context, c Consent) error
	// LoggedIn stores when a person logged in.
	LoggedIn(ctx context.Context, userID, clientID string, at int64) error
	// Consents returns those for a client, the last logins first.
	Consents(ctx context.Context, clientID string, limit int) ([]Consent, error)
	// ConsentsOf returns those of a person, in order of clients.
	ConsentsOf(ctx context.Context, userID string, limit int) ([]Consent, error)
	DeleteConsent(ctx context.Context, userID, clientID string) error
	// LiveGrants counts the grants of people that have not ended, for a client, or for all when
	// it is empty.
	LiveGrants(ctx context.Context, userIDs []string, clientID string, now int64) (map[Pair]int64, error)
}

// Stores are what the provider stores, by use. Methods that change something run in the
// transaction of the context.
type Stores struct {
	Keys     KeyStore
	Grants   GrantStore
	Consents ConsentStore
	Ended    EndStore
	Devices  DeviceStore
	Writer   identity.Writer
}
