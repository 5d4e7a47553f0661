package identity

import (
	"context"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/errcode"
)

var errLater = errcode.New(errcode.Internal, "not built yet")

type tokenIndex struct{}

func newTokenIndex() *tokenIndex { return &tokenIndex{} }

type keyRing struct{}

// SigningKey is the public half of a key that signs what clusters are told.
type SigningKey struct {
	ID string
	// PublicKey is Ed25519, 32 bytes.
	PublicKey []byte
}

// Signature is made by the key in force.
type Signature struct {
	KeyID string
	Bytes []byte
}

// Authenticate returns the caller of a bearer, from memory. Unauthorized when
// nobody knows it; Unavailable while tokens are not loaded, or the database
// has been away for more than 1 h.
func (d *Directory) Authenticate(ctx context.Context, bearer string) (Principal, error) {
	return Principal{}, errLater
}

// Rebuild loads all tokens; see event.Subscriber.
func (d *Directory) Rebuild(ctx context.Context) error { return errLater }

// Apply reads changed tokens again; see event.Subscriber.
func (d *Directory) Apply(ctx context.Context, rows []event.Row) error { return errLater }

// Run writes last uses in batches and ends superseded deploy tokens until the
// context ends.
func (d *Directory) Run(ctx context.Context) error { <-ctx.Done(); return nil }

// PrepareSetup returns the setup token that the hub should keep beside its
// data: the present one when it is still good, a new one when not, and "" once
// there is a user.
func (d *Directory) PrepareSetup(ctx context.Context, present string) (string, error) {
	return "", errLater
}

// Setup makes the first administrator and his API token. The bearer is the
// setup token, which works once: Unauthorized when it is not known.
func (d *Directory) Setup(ctx context.Context, bearer, email string) (CreatedToken, error) {
	return CreatedToken{}, errLater
}

// CreateToken makes an API token for the caller.
func (d *Directory) CreateToken(ctx context.Context, by Principal, r TokenRequest) (CreatedToken, error) {
	return CreatedToken{}, errLater
}

// CreateBootstrapToken makes a token with which agents may register.
func (d *Directory) CreateBootstrapToken(ctx context.Context, by Principal, r BootstrapRequest) (CreatedToken, error) {
	return CreatedToken{}, errLater
}

// Tokens lists API and bootstrap tokens: all for an administrator, else the
// caller's own.
func (d *Directory) Tokens(ctx context.Context, by Principal) ([]Token, error) { return nil, errLater }

// RevokeToken ends a token. NotFound also when it is not the caller's own and
// he is no administrator.
func (d *Directory) RevokeToken(ctx context.Context, by Principal, id string) error { return errLater }

// RevokeCluster ends every credential of a cluster; called when a cluster is
// deleted. It may be repeated.
func (d *Directory) RevokeCluster(ctx context.Context, clusterID string) error { return errLater }

// Register trades a bootstrap token for an identity. The same key and cluster
// uid may call again with the same token, also when it has no uses left.
// Unauthorized, Forbidden (tags, name), Invalid (proof), Conflict.
func (d *Directory) Register(ctx context.Context, bearer string, r Registration) (Registered, error) {
	return Registered{}, errLater
}

// Renew trades a signed request for a new deploy token. Unauthorized when the
// signature, the time or the nonce is not good; Conflict when two agents use
// one identity.
func (d *Directory) Renew(ctx context.Context, r Renewal) (Renewed, error) {
	return Renewed{}, errLater
}

// CheckBoot notes the boot of a cluster's agent, without SQL while it does not
// change. Conflict when an earlier boot comes back: two agents use one
// identity. Edges call it with each report and ping.
func (d *Directory) CheckBoot(ctx context.Context, clusterID, bootID string) error { return errLater }

// Sign signs a payload by the key in force, making the first key when there
// is none.
func (d *Directory) Sign(ctx context.Context, payload []byte) (Signature, error) {
	return Signature{}, errLater
}

// SigningKeys returns all keys that agents may trust, oldest first.
func (d *Directory) SigningKeys(ctx context.Context) ([]SigningKey, error) { return nil, errLater }

// RotateSigningKey announces a new key that takes over after 48 h, when every
// agent that polls has learned of it, and retires those before the present.
func (d *Directory) RotateSigningKey(ctx context.Context) (SigningKey, error) {
	return SigningKey{}, errLater
}

// KeysPayload is what is signed when keys are handed to an agent:
// "axle-signing-keys\n", then per key its id, a space, its public half in hex
// and a newline, in the order given.
func KeysPayload(keys []SigningKey) []byte { return nil }
