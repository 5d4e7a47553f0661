package identity

import (
	"context"
	"errors"
	"log/slog"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/pool"
)

// Sealer encrypts secrets at rest. The purpose is bound to the sealed text, so
// that one row's bytes cannot be used in another.
type Sealer interface {
	Seal(plain []byte, purpose string) string
	Open(sealed, purpose string) ([]byte, error)
}

// Config holds a Directory's dependencies, all required.
type Config struct {
	Stores Stores
	Writer Writer
	// Pools has the pools; nil has them without metrics.
	Pools *pool.Set
	Clock clock.Clock
	Log   *slog.Logger
}

// Directory authenticates and authorizes callers. It lists and changes users,
// groups, bindings and API tokens.
type Directory struct {
	*apiTokens
	*bindings
	*groups
	*users

	credentials *Credentials
	stores      Stores
	writer      Writer
	clock       clock.Clock
	log         *slog.Logger

	tokens *tokenIndex
	access *accessIndex
	uses   *pendingUses
	// unknown are look-ups of what strangers show, and absent those of tokens that the hub
	// itself has named.
	unknown, absent *pool.Rates
	refused         refusedBearers
}

// New returns a Directory, which knows tokens only after Rebuild, and the
// Credentials for the packages that issue tokens of their own.
func New(c Config) (*Directory, *Credentials, error) {
	if c.Stores.Tokens == nil || c.Writer == nil {
		return nil, nil, errors.New("identity: a directory needs stores and a writer")
	}
	d := &Directory{
		stores: c.Stores, writer: c.Writer, clock: c.Clock, log: c.Log,
		tokens: newTokenIndex(), access: &accessIndex{store: c.Stores.Access}, uses: newPendingUses(),
	}
	d.unknown, d.absent = newLookUps(c.Pools, c.Clock)
	credentials := &Credentials{directory: d, store: c.Stores.Tokens}
	d.credentials = credentials
	changes := &changes{writer: c.Writer, access: d.access, clock: c.Clock, log: c.Log}
	d.users = &users{changes: changes, store: c.Stores.Users, reader: c.Stores.UserReader, credentials: credentials, tokens: d.tokens}
	d.groups = &groups{changes: changes, store: c.Stores.Groups, members: c.Stores.Members, users: d.users}
	d.bindings = &bindings{changes: changes, store: c.Stores.Bindings, groups: c.Stores.Groups, users: d.users}
	d.apiTokens = &apiTokens{credentials: credentials, reader: c.Stores.Index, users: d.users}
	return d, credentials, nil
}

var _ event.Subscriber = (*Directory)(nil)

func (d *Directory) now() int64 { return clock.Micros(d.clock.Now()) }

// Reload reads some users again, after a transaction that changed them, so that
// the change takes effect on this replica at once.
func (d *Directory) Reload(ctx context.Context, userIDs ...string) error {
	return d.access.reload(ctx, userIDs, nil)
}

// DeployToken reports whether a deploy token is still valid, and whether its
// cluster has another valid one, in which case the agent merely has a newer
// token. Both come from memory, as of the change feed.
func (d *Directory) DeployToken(tokenID, clusterID string) (good, others bool) {
	return d.tokens.deploy(tokenID, clusterID, d.now())
}
