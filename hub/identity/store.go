package identity

import "context"

// User is a person or a program with its own identity.
type User struct {
	ID string
	// Kind is KindUser or KindServiceAccount.
	Kind Kind
	// Name is an e-mail for a user.
	Name      string
	Admin     bool
	CreatedAt int64
}

// AgentKey is the identity of one cluster's agent.
type AgentKey struct {
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

// Writer runs fn in one transaction, in the context that it passes to fn;
// inside a transaction it joins that one. It may run fn several times.
type Writer interface {
	Write(ctx context.Context, fn func(ctx context.Context) error) error
}

// Store stores identities. Methods that change something run in the transaction
// of the context. Reads by key return NotFound when there is no such row.
type Store interface {
	TokenStore
	AgentKeyStore
	AccessStore
	LoginStore
	FederationStore

	// InsertUser adds a user; Conflict when the name is taken.
	InsertUser(ctx context.Context, u User) error
	// UserByName returns a user, or NotFound.
	UserByName(ctx context.Context, name string) (User, error)
	// User returns a user by id, or NotFound.
	User(ctx context.Context, id string) (User, error)
	// CountUsers returns how many there are.
	CountUsers(ctx context.Context) (int, error)

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

// TokenStore stores tokens by hash.
type TokenStore interface {
	// InsertToken adds a token.
	InsertToken(ctx context.Context, t Token) error
	// UpdateToken writes hash and bootstrap terms, or returns NotFound.
	UpdateToken(ctx context.Context, t Token) error
	// DeleteTokens removes tokens by id; missing ones are no error.
	DeleteTokens(ctx context.Context, ids []string) error
	// DeleteExpiredTokens removes those that expired before.
	DeleteExpiredTokens(ctx context.Context, before int64) error
	// Token returns a token by id, or NotFound.
	Token(ctx context.Context, id string) (Token, error)
	// TokenByHash returns a token by the hash of its bearer, or NotFound.
	TokenByHash(ctx context.Context, hash []byte) (Token, error)
	// Tokens returns API and bootstrap tokens, newest first: an owner's, or
	// all when the owner is empty.
	Tokens(ctx context.Context, ownerID string) ([]Token, error)
	// TokensByID returns those of the ids that exist.
	TokensByID(ctx context.Context, ids []string) ([]Token, error)
	// EachToken calls fn with every token that has not expired at the time.
	EachToken(ctx context.Context, now int64, fn func(Token) error) error
	// ClusterTokens returns the deploy tokens of a cluster and the bootstrap
	// tokens fixed to it, newest first.
	ClusterTokens(ctx context.Context, clusterID string) ([]Token, error)
	// TouchTokens sets the last use of tokens by id.
	TouchTokens(ctx context.Context, at map[string]int64) error
}

// AgentKeyStore stores the identities of agents.
type AgentKeyStore interface {
	// AgentKey returns a cluster's key, or NotFound.
	AgentKey(ctx context.Context, clusterID string) (AgentKey, error)
	// AgentKeyByPublicKey returns the cluster's key by its public half, or NotFound.
	AgentKeyByPublicKey(ctx context.Context, publicKey []byte) (AgentKey, error)
	// PutAgentKey writes a cluster's key, new or changed.
	PutAgentKey(ctx context.Context, k AgentKey) error
	// DeleteAgentKey removes a cluster's key; a missing one is no error.
	DeleteAgentKey(ctx context.Context, clusterID string) error
	// UseNonce records a nonce, or returns Conflict when it was used before. It
	// forgets nonces older than forget.
	UseNonce(ctx context.Context, nonce []byte, at, forget int64) error
}
