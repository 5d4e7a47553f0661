package identity

import (
	"context"

	"github.com/axle-cd/axle/hub/managed"
)

// User is a person or a program with its own identity.
type User struct {
	ID string
	// Kind is KindUser or KindServiceAccount.
	Kind Kind
	// Name is an e-mail for a user.
	Name  string
	Admin bool
	// ManagedBy is who manages the user; AdminManagedBy who manages Admin.
	ManagedBy, AdminManagedBy managed.Manager
	CreatedAt                 int64
}

// Person is a user or a service account with its groups.
type Person struct {
	User
	// Groups are ids, sorted.
	Groups []string
}

// Group is a set of users and service accounts.
type Group struct {
	ID          string
	Name        string
	Description string
	ManagedBy   managed.Manager
	CreatedAt   int64
	// Members is their number, filled by reads.
	Members int
}

// Member is one membership. Source is empty when a person set it; otherwise it
// names the source, such as a login provider.
type Member struct {
	GroupID string
	UserID  string
	Source  string
	// ManagedBy is who manages it; nobody for that of a login provider.
	ManagedBy managed.Manager
}

// Binding gives one subject one action on one object and everything below it.
type Binding struct {
	ID string
	// SubjectKind is KindUser, KindServiceAccount or KindGroup; Subject is the
	// name, filled by reads.
	SubjectKind Kind
	SubjectID   string
	Subject     string
	// Action is one of read, write, create and git.
	Action Action
	Level  Level
	// ObjectID is the project's, cluster's or service's id, empty for the hub;
	// Object is its name, filled by reads, of a service "cluster/name". It is
	// empty when the thing is gone.
	ObjectID  string
	Object    string
	ManagedBy managed.Manager
	CreatedAt int64
	CreatedBy string
}

// Writer runs fn in one transaction, in the context that it passes to fn;
// inside a transaction it joins that one. It may run fn several times.
type Writer interface {
	Write(ctx context.Context, fn func(ctx context.Context) error) error
}

// Stores are what a Directory stores, by use. Methods that change something run
// in the transaction of the context. Reads by key return NotFound when there is
// no such row.
type Stores struct {
	Tokens     TokenStore
	Index      TokenReader
	Uses       UseStore
	Proofs     ProofStore
	Access     AccessReader
	Users      UserStore
	UserReader UserReader
	Groups     GroupStore
	Members    MemberStore
	Bindings   BindingStore
}

// TokenStore is what Credentials writes.
type TokenStore interface {
	// InsertToken adds a token.
	InsertToken(ctx context.Context, t Token) error
	// UpdateToken writes hash and bootstrap terms, or returns NotFound.
	UpdateToken(ctx context.Context, t Token) error
	// DeleteTokens removes tokens by id; missing ones are no error.
	DeleteTokens(ctx context.Context, ids []string) error
	// OwnedTokens returns every token of a user, of whatever kind.
	OwnedTokens(ctx context.Context, ownerID string) ([]Token, error)
	// Token returns a token by id, or NotFound.
	Token(ctx context.Context, id string) (Token, error)
}

// TokenReader is what the tokens in memory are read from, and lists.
type TokenReader interface {
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
}

// UseStore is what Run writes.
type UseStore interface {
	// TouchTokens sets the last use of tokens by id.
	TouchTokens(ctx context.Context, at map[string]int64) error
	// ClusterTokens returns the deploy tokens of a cluster and the bootstrap
	// tokens fixed to it, newest first.
	ClusterTokens(ctx context.Context, clusterID string) ([]Token, error)
	// EndingTokens returns API tokens of service accounts with a lifetime of at least
	// life that end after one time and not after another, the first to end first, 50 at
	// most.
	EndingTokens(ctx context.Context, after, until, life int64) ([]Token, error)
	// DeleteExpiredTokens removes those that expired before.
	DeleteExpiredTokens(ctx context.Context, before int64) error
	// DropSessions removes the data of tokens that are gone, the tokens that
	// ended with them, and marks and devices that expired before now.
	DropSessions(ctx context.Context, now int64) error
}

// ProofStore knows what people have proved in their sessions.
type ProofStore interface {
	// ProvedAt returns when the person of a session last gave a proof, 0 when
	// that is unknown, or NotFound.
	ProvedAt(ctx context.Context, tokenID string) (int64, error)
}

// AccessReader reads who may do what. A nil list of ids means all.
type AccessReader interface {
	// People returns those of the ids that exist, in order of name.
	People(ctx context.Context, ids []string) ([]Person, error)
	// Groups returns those of the ids that exist, in order of name.
	Groups(ctx context.Context, ids []string) ([]Group, error)
	// Bindings returns those of some subjects with every name, oldest first.
	Bindings(ctx context.Context, subjectIDs []string) ([]Binding, error)
}

// UserReader finds users and service accounts.
type UserReader interface {
	// User returns a user by id, or NotFound.
	User(ctx context.Context, id string) (User, error)
	// UserByName returns a user, or NotFound.
	UserByName(ctx context.Context, name string) (User, error)
	// UserByAddress returns a user whose name is an address in any letters, or NotFound.
	UserByAddress(ctx context.Context, address string) (User, error)
}

// UserStore stores users and service accounts.
type UserStore interface {
	// InsertUser adds a user; Conflict when the name is taken.
	InsertUser(ctx context.Context, u User) error
	// UpdateUser writes whether a user is an administrator, and the managers, or
	// returns NotFound.
	UpdateUser(ctx context.Context, u User) error
	// DeleteUser removes a user with their memberships and bindings.
	DeleteUser(ctx context.Context, id string) error
	// CountUsers returns how many there are.
	CountUsers(ctx context.Context) (int, error)
	// CountAdmins returns how many users are administrators; service accounts
	// do not count.
	CountAdmins(ctx context.Context) (int, error)
}

// GroupStore stores groups.
type GroupStore interface {
	// GroupByName returns one, or NotFound.
	GroupByName(ctx context.Context, name string) (Group, error)
	// InsertGroup adds a group; Conflict when the name is taken.
	InsertGroup(ctx context.Context, g Group) error
	// ManageGroup writes the manager of a group.
	ManageGroup(ctx context.Context, g Group) error
	// DeleteGroup removes a group with its memberships and bindings.
	DeleteGroup(ctx context.Context, id string) error
}

// MemberStore stores who is in a group.
type MemberStore interface {
	// Members returns a group's memberships.
	Members(ctx context.Context, groupID string) ([]Member, error)
	// MembershipsOf returns those that a source gave a user.
	MembershipsOf(ctx context.Context, userID, source string) ([]Member, error)
	// PutMember adds a membership and reports whether it is new.
	PutMember(ctx context.Context, m Member) (bool, error)
	// DeleteMember removes one and reports whether it was there.
	DeleteMember(ctx context.Context, m Member) (bool, error)
}

// BindingStore stores role bindings.
type BindingStore interface {
	// InsertBinding adds a binding and reports whether it is new.
	InsertBinding(ctx context.Context, b Binding) (bool, error)
	// BindingsAt returns those of exactly one object with every name, oldest first.
	BindingsAt(ctx context.Context, level Level, objectID string) ([]Binding, error)
	// DeleteBinding removes one by id; a missing one is no error.
	DeleteBinding(ctx context.Context, id string) error
	// StaleBindings returns up to limit bindings whose object or subject was deleted.
	StaleBindings(ctx context.Context, limit int) ([]Binding, error)
}
