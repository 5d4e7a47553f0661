package identity

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/passhash"
)

// Sealer keeps secrets unreadable at rest. The purpose is bound to what is
// sealed, so that one row's bytes are of no use in another.
type Sealer interface {
	Seal(plain []byte, purpose string) string
	Open(sealed, purpose string) ([]byte, error)
}

// Config is what a Directory needs. All but Issuers, Clock and Log are required.
type Config struct {
	Store    Store
	Writer   Writer
	Clusters Clusters
	Sealer   Sealer
	// Issuers checks federated tokens; nil takes none. PlainIssuers lets them
	// be http:// URLs, for tests.
	Issuers      Issuers
	PlainIssuers bool
	Clock        clock.Clock
	Log          *slog.Logger
}

// Directory answers who calls and what he may do.
type Directory struct {
	store    Store
	writer   Writer
	clusters Clusters
	sealer   Sealer
	clock    clock.Clock
	log      *slog.Logger

	issuers      Issuers
	plainIssuers bool

	tokens *tokenIndex
	access accessIndex
	uses   *pendingUses
	misses misses
	// boots maps cluster ids to knownBoot.
	boots sync.Map
	keys  keyRing
	// door lets one registration in at a time. Many agents come with one
	// bootstrap token, whose row counts them: on Postgres, transactions that
	// meet there would run again and again until they give up.
	door      chan struct{}
	passwords *passhash.Hasher
}

// New returns a Directory that knows no token until Rebuild.
func New(c Config) (*Directory, error) {
	if c.Store == nil || c.Writer == nil || c.Clusters == nil || c.Sealer == nil {
		return nil, errors.New("identity: a directory needs a store, a writer, clusters and a sealer")
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Directory{
		store: c.Store, writer: c.Writer, clusters: c.Clusters, sealer: c.Sealer, clock: c.Clock, log: c.Log,
		issuers: c.Issuers, plainIssuers: c.PlainIssuers,
		tokens: newTokenIndex(), uses: newPendingUses(), door: make(chan struct{}, 1),
		passwords: passhash.New(),
	}, nil
}

var _ event.Subscriber = (*Directory)(nil)

func (d *Directory) now() int64 { return clock.Micros(d.clock.Now()) }

// change is the feed row of a token.
func change(t Token) event.Change {
	return event.Change{Kind: event.KindToken, Key: t.ID, Cluster: t.ClusterID}
}

// tokensOf is what a transaction relies on that ends what somebody has: of one
// that makes a token for them meanwhile, the later sees the earlier.
func tokensOf(ownerID string) event.Change {
	return event.Change{Kind: event.KindToken, Key: "of " + ownerID}
}

// insertToken keeps a new token and tells the feed, in the transaction of the
// context.
func insertToken(ctx context.Context, store TokenStore, t Token) error {
	if err := store.InsertToken(ctx, t); err != nil {
		return err
	}
	if t.OwnerID != "" {
		if err := event.Append(ctx, tokensOf(t.OwnerID)); err != nil {
			return err
		}
	}
	return event.Append(ctx, change(t))
}

// appendTokens tells the feed of changed tokens.
func appendTokens(ctx context.Context, tokens ...Token) error {
	for _, t := range tokens {
		if err := event.Append(ctx, change(t)); err != nil {
			return err
		}
	}
	return nil
}
