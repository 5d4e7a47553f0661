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

// Sealer encrypts secrets at rest. The purpose is bound to the sealed text, so
// that one row's bytes cannot be used in another.
type Sealer interface {
	Seal(plain []byte, purpose string) string
	Open(sealed, purpose string) ([]byte, error)
}

// Config holds a Directory's dependencies. All but Issuers, Clock and Log are
// required.
type Config struct {
	Store    Store
	Writer   Writer
	Clusters Clusters
	Sealer   Sealer
	// Issuers verifies federated tokens; nil accepts none. PlainIssuers allows
	// http:// issuer URLs, for tests.
	Issuers      Issuers
	PlainIssuers bool
	Clock        clock.Clock
	Log          *slog.Logger
}

// Directory authenticates and authorizes callers.
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
	// door admits one registration at a time. Many agents come with one
	// bootstrap token, whose row counts its uses: on Postgres, concurrent
	// transactions on that row would retry until they give up.
	door      chan struct{}
	passwords *passhash.Hasher
}

// New returns a Directory, which knows tokens only after Rebuild.
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

// change returns the feed row of a token.
func change(t Token) event.Change {
	return event.Change{Kind: event.KindToken, Key: t.ID, Cluster: t.ClusterID}
}

// tokensOf is what a transaction that revokes a user's credentials relies on:
// of it and a concurrent transaction that creates a token for that user, the
// later sees the earlier.
func tokensOf(ownerID string) event.Change {
	return event.Change{Kind: event.KindToken, Key: "of " + ownerID}
}

// insertToken stores a new token and its feed row, in the transaction of the context.
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

// appendTokens appends the feed rows of changed tokens.
func appendTokens(ctx context.Context, tokens ...Token) error {
	for _, t := range tokens {
		if err := event.Append(ctx, change(t)); err != nil {
			return err
		}
	}
	return nil
}
