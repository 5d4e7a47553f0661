package account

import (
	"context"

	"github.com/axle-cd/axle/hub/identity"
)

// StoredProvider is a Provider with its secret sealed.
type StoredProvider struct {
	Provider
	// Sealed is the client's secret, sealed for the provider's id.
	Sealed string
}

// StoredTrial is a provider that a user tries.
type StoredTrial struct {
	UserID string
	ID     string
	// Sealed is the provider with its client's secret, sealed for the trial's id.
	Sealed    string
	ExpiresAt int64
}

// Subject links an account at a provider to a user of the hub.
type Subject struct {
	ProviderID string
	// Subject is the provider's own, immutable name of the account.
	Subject string
	UserID  string
	// Email is the address that the provider sent at the last login.
	Email       string
	LastLoginAt int64
}

// StoredPassword is the local login of one user.
type StoredPassword struct {
	UserID string
	// Hash is an argon2id hash in its usual text form.
	Hash      string
	ChangedAt int64
	// SealedTOTP is the secret of one-time codes, sealed for the user's id;
	// empty without one. TOTPStep is the last time step that was used.
	SealedTOTP string
	TOTPStep   int64
}

// Passkey is one WebAuthn credential of a user.
type Passkey struct {
	// ID is the credential's id in base64url.
	ID     string
	UserID string
	Name   string
	// Credential is hub/login's record of it, as JSON; it holds no secret.
	Credential string
	CreatedAt  int64
	LastUsedAt int64
}

// StoredSession is the data of a session beside its token.
type StoredSession struct {
	TokenID string
	UserID  string
	SessionTerms
	// Sealed is the provider's ID token, sealed for the token's id: a logout at
	// the provider identifies the session by it.
	Sealed string
}

// Device is one device login: a command line that shows a code.
type Device struct {
	// Hash is of the device code, UserCode is what the person types.
	Hash     []byte
	UserCode string
	// Client and Source describe the requester, for the person who decides.
	Client   string
	Source   string
	Scopes   []string
	Lifetime int64
	// UserID is the user who allowed it, empty until then. Denied ends it.
	UserID    string
	UserToken string
	Denied    bool
	PolledAt  int64
	// Interval is the minimum time between two polls, in microseconds.
	Interval  int64
	CreatedAt int64
	ExpiresAt int64
}

// Stores are what Accounts stores, by use. Methods that change something run in
// the transaction of the context. Reads by key return NotFound when there is no
// such row.
type Stores struct {
	Passwords    PasswordStore
	Passkeys     PasskeyStore
	Providers    ProviderStore
	Trials       TrialStore
	Subjects     SubjectStore
	Members      MemberStore
	Users        UserStore
	Sessions     SessionStore
	Tokens       TokenReader
	Devices      DeviceStore
	DeviceCounts DeviceCounter
	Marks        MarkStore
}

// ProviderStore stores login providers.
type ProviderStore interface {
	// InsertProvider adds a provider; Conflict when the name is taken.
	InsertProvider(ctx context.Context, p StoredProvider) error
	// UpdateProvider writes all but name and time, or returns NotFound.
	UpdateProvider(ctx context.Context, p StoredProvider) error
	// DeleteProvider removes a provider with its subjects and the memberships
	// that it gave.
	DeleteProvider(ctx context.Context, p Provider) error
	// ProviderByName returns one, or NotFound.
	ProviderByName(ctx context.Context, name string) (StoredProvider, error)
	// Providers returns all in order of name.
	Providers(ctx context.Context) ([]StoredProvider, error)
}

// TrialStore stores the providers that users try.
type TrialStore interface {
	// PutTrial writes a user's, in place of the one before.
	PutTrial(ctx context.Context, t StoredTrial) error
	// Trial returns a user's, or NotFound.
	Trial(ctx context.Context, userID string) (StoredTrial, error)
}

// SubjectStore stores the users who came through a provider.
type SubjectStore interface {
	// Subject returns one, or NotFound.
	Subject(ctx context.Context, providerID, subject string) (Subject, error)
	// SubjectsOf returns those of a user.
	SubjectsOf(ctx context.Context, userID string) ([]Subject, error)
	// UsersOf returns the ids of the users that came through a provider.
	UsersOf(ctx context.Context, providerID string) ([]string, error)
	// PutSubject writes one, new or changed.
	PutSubject(ctx context.Context, s Subject) error
	// DeleteSubjects removes those of a user.
	DeleteSubjects(ctx context.Context, userID string) error
}

// PasswordStore stores passwords and one-time codes.
type PasswordStore interface {
	// Password returns a user's, or NotFound.
	Password(ctx context.Context, userID string) (StoredPassword, error)
	// PutPassword writes one, new or changed.
	PutPassword(ctx context.Context, p StoredPassword) error
	// UseTOTPStep notes a time step and reports whether it is later than the
	// last one that was used.
	UseTOTPStep(ctx context.Context, userID string, step int64) (bool, error)
}

// PasskeyStore stores passkeys.
type PasskeyStore interface {
	// Passkeys returns those of a user, oldest first.
	Passkeys(ctx context.Context, userID string) ([]Passkey, error)
	// InsertPasskey adds one; Conflict when it is known.
	InsertPasskey(ctx context.Context, k Passkey) error
	// UpdatePasskey writes the credential and the last use.
	UpdatePasskey(ctx context.Context, k Passkey) error
	// DeletePasskey removes one of a user and reports whether it was there.
	DeletePasskey(ctx context.Context, userID, id string) (bool, error)
}

// SessionStore stores the data of sessions beside their tokens.
type SessionStore interface {
	// PutSession adds a session, or updates when its person last gave a proof.
	PutSession(ctx context.Context, s StoredSession) error
	// Session returns one by its token's id, or NotFound.
	Session(ctx context.Context, tokenID string) (StoredSession, error)
	// SessionsOf returns those of a user, or of all that came through a
	// provider when the user is empty.
	SessionsOf(ctx context.Context, userID, providerID string) ([]StoredSession, error)
	// LoginTokens returns the sessions and command line tokens of a user,
	// newest first.
	LoginTokens(ctx context.Context, userID string) ([]identity.Token, error)
}

// MarkStore remembers what can be used once.
type MarkStore interface {
	// UseOnce records a key until it expires, or returns Conflict when it was
	// recorded before.
	UseOnce(ctx context.Context, key string, expires int64) error
}

// DeviceStore stores device logins.
type DeviceStore interface {
	// InsertDevice adds one; Conflict when the user code is taken.
	InsertDevice(ctx context.Context, d Device) error
	// Device returns one by the hash of its code, or NotFound.
	Device(ctx context.Context, hash []byte) (Device, error)
	// DeviceByUserCode returns one, or NotFound.
	DeviceByUserCode(ctx context.Context, code string) (Device, error)
	// UpdateDevice writes the decision, and how the device is polled.
	UpdateDevice(ctx context.Context, d Device) error
	// DeleteDevice removes one; a missing one is no error.
	DeleteDevice(ctx context.Context, hash []byte) error
}

// DeviceCounter bounds the device logins that wait.
type DeviceCounter interface {
	// CountDevices counts those that have not expired, and those of a source.
	CountDevices(ctx context.Context, source string, now int64) (all, ofSource int, err error)
	// DropBusiestDevice removes the oldest device of the source that has the most.
	DropBusiestDevice(ctx context.Context, now int64) error
}

// UserStore finds users and adds those who log in for the first time.
type UserStore interface {
	// InsertUser adds a user; Conflict when the name is taken.
	InsertUser(ctx context.Context, u identity.User) error
	// CountUsers returns how many there are.
	CountUsers(ctx context.Context) (int, error)
	// User returns a user by id, or NotFound.
	User(ctx context.Context, id string) (identity.User, error)
	// UserByName returns a user, or NotFound.
	UserByName(ctx context.Context, name string) (identity.User, error)
}

// MemberStore stores the memberships that providers give.
type MemberStore interface {
	// GroupByName returns a group, or NotFound.
	GroupByName(ctx context.Context, name string) (identity.Group, error)
	// MembershipsOf returns those that a source gave a user.
	MembershipsOf(ctx context.Context, userID, source string) ([]identity.Member, error)
	// PutMember adds a membership and reports whether it is new.
	PutMember(ctx context.Context, m identity.Member) (bool, error)
	// DeleteMember removes one and reports whether it was there.
	DeleteMember(ctx context.Context, m identity.Member) (bool, error)
}

// TokenReader finds tokens of sessions, setup and reset.
type TokenReader interface {
	// Token returns a token by id, or NotFound.
	Token(ctx context.Context, id string) (identity.Token, error)
	// TokenByHash returns a token by the hash of its bearer, or NotFound.
	TokenByHash(ctx context.Context, hash []byte) (identity.Token, error)
}
