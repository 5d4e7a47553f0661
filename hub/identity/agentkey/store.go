package agentkey

import (
	"context"

	"github.com/axle-cd/axle/hub/identity"
)

// Key is the identity of one cluster's agent.
type Key struct {
	ClusterID   string
	ClusterName string
	// PublicKey is Ed25519, 32 bytes.
	PublicKey []byte
	// ClusterUID is the uid of the cluster's kube-system namespace.
	ClusterUID string
	// TokenID is the bootstrap token it registered with.
	TokenID string
	// BootID is the agent's current boot; PastBoots are up to 8 before it,
	// newest first. A boot that comes back means a second agent.
	BootID       string
	PastBoots    []string
	RegisteredAt int64
	// ConflictAt is when a second agent was last seen, 0 when there is none.
	ConflictAt int64
}

// StoredSigningKey is a signing key with its private half sealed.
type StoredSigningKey struct {
	ID string
	// PublicKey is Ed25519, 32 bytes.
	PublicKey []byte
	// Sealed is the private seed, sealed for the key's id.
	Sealed    string
	CreatedAt int64
	// SignsFrom is when it takes over; until then it is only announced.
	SignsFrom int64
	// RetiredAt is when it was retired, 0 while it is in force.
	RetiredAt int64
}

// Stores are what Keys stores, by use. Methods that change something run in the
// transaction of the context.
type Stores struct {
	Keys   KeyStore
	Tokens TokenStore
}

// KeyStore stores the identities of agents.
type KeyStore interface {
	// AgentKey returns a cluster's key, or NotFound.
	AgentKey(ctx context.Context, clusterID string) (Key, error)
	// AgentKeyByPublicKey returns the cluster's key by its public half, or NotFound.
	AgentKeyByPublicKey(ctx context.Context, publicKey []byte) (Key, error)
	// PutAgentKey writes a cluster's key, new or changed.
	PutAgentKey(ctx context.Context, k Key) error
	// DeleteAgentKey removes a cluster's key; a missing one is no error.
	DeleteAgentKey(ctx context.Context, clusterID string) error
	// UseNonce records a nonce, or returns Conflict when it was used before. It
	// forgets nonces older than forget.
	UseNonce(ctx context.Context, nonce []byte, at, forget int64) error
}

// TokenStore finds the tokens of agents.
type TokenStore interface {
	// TokenByHash returns a token by the hash of its bearer, or NotFound.
	TokenByHash(ctx context.Context, hash []byte) (identity.Token, error)
	// ClusterTokens returns the deploy tokens of a cluster and the bootstrap
	// tokens fixed to it, newest first.
	ClusterTokens(ctx context.Context, clusterID string) ([]identity.Token, error)
}

// SigningKeyStore stores the hub's signing keys.
type SigningKeyStore interface {
	// SigningKeys returns all keys that are not retired, in the order in which
	// they take over.
	SigningKeys(ctx context.Context) ([]StoredSigningKey, error)
	// RetiredSigningKeys returns those that were retired since, oldest first.
	RetiredSigningKeys(ctx context.Context, since int64) ([]StoredSigningKey, error)
	// InsertSigningKey adds a key.
	InsertSigningKey(ctx context.Context, k StoredSigningKey) error
	// RetireSigningKey sets when a key was retired.
	RetireSigningKey(ctx context.Context, id string, at int64) error
}
