package event

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// pollInterval is how late a replica hears of another's commit when no
	// notification came.
	pollInterval = time.Second
	// announcedInterval is the same while notifications are heard: they are why
	// a feed looks, and this is for one that is lost.
	announcedInterval = 3 * time.Second
	// lifeInterval is how often a feed without news makes sure that it is still
	// the same life of the database; with news, or after an error, it does so
	// each time.
	lifeInterval = 5 * time.Second
	// batch is how many rows are read at once.
	batch = 500
	// maxBackoff bounds the pause after a failed read of the feed.
	maxBackoff = 5 * time.Second
	// readLimit bounds one read of the feed with what its rows ask of indexes,
	// and rebuildLimit that of everything: a connection that died without a
	// word must not freeze this replica's view.
	readLimit    = 20 * time.Second
	rebuildLimit = 10 * time.Minute
)

// ErrTruncated is returned by Store.ChangesAfter when rows after the asked
// sequence were dropped by retention.
var ErrTruncated = errors.New("rows of the change feed were dropped before this replica read them")

// Store reads the feed's rows.
type Store interface {
	// Incarnation returns the present life of the database.
	Incarnation(ctx context.Context) (Incarnation, error)
	// LastSequence returns the highest sequence of the present incarnation,
	// 0 when there is none.
	LastSequence(ctx context.Context) (int64, error)
	// ChangesAfter returns up to limit rows above the sequence in order, or
	// ErrTruncated.
	ChangesAfter(ctx context.Context, sequence int64, limit int) ([]Row, error)
}

// Mender is a Store that can begin a new incarnation when the database lost
// rows that were committed, as a fail-over may.
type Mender interface {
	// Mend looks whether the database still has seen, which this hub knows that
	// it had, and begins a new incarnation when it does not. witness is the
	// cluster that showed it, empty when this replica was there itself.
	Mend(ctx context.Context, seen Position, witness string) error
}

// Subscriber keeps an index that follows the feed. Calls come one at a time.
type Subscriber interface {
	// Rebuild loads everything anew; rows that are applied after it may be
	// older than what it read.
	Rebuild(ctx context.Context) error
	// Apply brings the index up to date with the rows. An error makes the
	// feed try the same rows again later; the position does not move.
	Apply(ctx context.Context, rows []Row) error
}

// FeedConfig is what a Feed needs. Only Store is required.
type FeedConfig struct {
	Store Store
	Clock clock.Clock
	Log   *slog.Logger
	// Announced tells whether this replica hears of others' commits, so that
	// looking for them is only for what was missed. Nil is never.
	Announced func() bool
	// Proofs makes what agents show of places that this hub named; nil makes
	// none, and none is believed.
	Proofs *Proofs
	// Registerer takes how late rows are applied.
	Registerer prometheus.Registerer
}

// Feed follows the change feed for one replica.
type Feed struct {
	store     Store
	clock     clock.Clock
	log       *slog.Logger
	announced func() bool
	proofs    *Proofs
	wake      chan struct{}
	late      prometheus.Histogram

	mu          sync.Mutex
	subscribers []Subscriber
	incarnation Incarnation
	position    Position
	readAt      time.Time // when all rows there were had been applied
	ready       bool
	moved       chan struct{}
	recalled    evidence // not looked up yet
}

// NewFeed returns a Feed that is not ready until Run has built every index.
func NewFeed(c FeedConfig) (*Feed, error) {
	if c.Store == nil {
		return nil, errors.New("event: a feed needs a store")
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Announced == nil {
		c.Announced = func() bool { return false }
	}
	f := &Feed{store: c.Store, clock: c.Clock, log: c.Log, announced: c.Announced, proofs: c.Proofs, wake: make(chan struct{}, 1), moved: make(chan struct{})}
	f.late = newLateness(c.Registerer)
	return f, nil
}

// Subscribe adds an index. It must be called before Run.
func (f *Feed) Subscribe(s Subscriber) { f.subscribers = append(f.subscribers, s) }

// Wake makes the feed look for rows now. It never blocks; the store calls it
// after each commit, and a notification from another replica does too.
func (f *Feed) Wake() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Position returns how far this replica's indexes are, zero until they are
// whole.
func (f *Feed) Position() Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.position
}

// Age returns how long ago this replica knew that it had applied every row
// there was: a second at most while all is well, three while commits are announced. Before the first time it
// is zero, and the feed is not ready.
func (f *Feed) Age() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.readAt.IsZero() {
		return 0
	}
	return max(0, f.clock.Now().Sub(f.readAt))
}

// Incarnation returns the life of the database that this replica follows.
func (f *Feed) Incarnation() Incarnation {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.incarnation
}

// Ready returns nil once the indexes are whole, else an Unavailable error.
func (f *Feed) Ready() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ready {
		return errcode.New(errcode.Unavailable, "the hub is loading its indexes; try again in a second").After(time.Second)
	}
	return nil
}

// Run builds the indexes and follows the feed until the context ends. Failures
// to read are retried with full jitter and never end it.
func (f *Feed) Run(ctx context.Context) error {
	backoff := jitter.Backoff{Min: 100 * time.Millisecond, Max: maxBackoff}
	var looked time.Time // when a whole turn went well; zero asks for one now
	for ctx.Err() == nil {
		if now := f.clock.Now(); looked.IsZero() || now.Sub(looked) >= lifeInterval || !f.quiet(ctx, now) {
			looked = now
		} else {
			looked = f.pause(ctx, looked)
			continue
		}
		err := f.turn(ctx)
		if err == nil {
			backoff.Reset()
			looked = f.pause(ctx, looked)
			continue
		}
		looked = time.Time{}
		if ctx.Err() != nil {
			return nil
		}
		f.log.Warn("the change feed cannot be followed", logkey.Error, err)
		if jitter.Wait(ctx, backoff.Next()) != nil {
			return nil
		}
	}
	return nil
}

// pause waits for the next turn and returns when the last whole one was, zero
// when somebody knows of news.
func (f *Feed) pause(ctx context.Context, looked time.Time) time.Time {
	interval := pollInterval
	if f.announced() {
		interval = announcedInterval
	}
	select {
	case <-f.wake:
		return time.Time{}
	case <-f.clock.After(interval):
	case <-ctx.Done():
	}
	return looked
}

// quiet reports whether there is nothing new, by one question. Whatever else
// the answer is, a whole turn finds out.
func (f *Feed) quiet(ctx context.Context, now time.Time) bool {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	rows, err := f.store.ChangesAfter(ctx, f.Position().Sequence, 1)
	if err != nil || len(rows) > 0 {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readAt = now
	return true
}

// turn rebuilds when needed, then applies all rows there are.
func (f *Feed) turn(ctx context.Context) error {
	current, err := f.present(ctx)
	if err != nil {
		return fmt.Errorf("read the incarnation: %w", err)
	}
	f.mu.Lock()
	ready, known := f.ready, f.incarnation
	f.incarnation = current
	f.mu.Unlock()
	if !ready || known.ID != current.ID {
		if err := f.rebuild(ctx, current); err != nil {
			return err
		}
	}
	for {
		began := f.clock.Now()
		n, err := f.tail(ctx, current)
		if errors.Is(err, ErrTruncated) {
			f.log.Warn("this replica was away longer than the feed is kept; rebuilding", logkey.Position, f.Position().String())
			return f.rebuild(ctx, current)
		}
		if err != nil {
			return err
		}
		if n < batch {
			f.mu.Lock()
			f.readAt = began
			f.mu.Unlock()
			return f.weigh(ctx)
		}
	}
}

func (f *Feed) present(ctx context.Context) (Incarnation, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	return f.store.Incarnation(ctx)
}

func (f *Feed) rebuild(ctx context.Context, current Incarnation) error {
	ctx, cancel := context.WithTimeout(ctx, rebuildLimit)
	defer cancel()
	last, err := f.store.LastSequence(ctx)
	if err != nil {
		return fmt.Errorf("read the last sequence: %w", err)
	}
	for _, s := range f.subscribers {
		if err := s.Rebuild(ctx); err != nil {
			return fmt.Errorf("rebuild an index: %w", err)
		}
	}
	f.advance(Position{Incarnation: current.ID, Sequence: last}, true)
	f.log.Info("indexes are whole", logkey.Position, f.Position().String())
	return nil
}

func (f *Feed) tail(ctx context.Context, current Incarnation) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	at := f.Position().Sequence
	rows, err := f.store.ChangesAfter(ctx, at, batch)
	if err != nil {
		return 0, err
	}
	if len(rows) == 0 {
		return 0, f.mend(ctx, evidence{at: Position{Incarnation: current.ID, Sequence: at}})
	}
	for _, s := range f.subscribers {
		if err := s.Apply(ctx, rows); err != nil {
			return 0, fmt.Errorf("apply rows after %d: %w", at, err)
		}
	}
	f.advance(Position{Incarnation: current.ID, Sequence: rows[len(rows)-1].Sequence}, true)
	f.observe(rows)
	return len(rows), nil
}

func (f *Feed) advance(p Position, ready bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.position, f.ready = p, ready
	close(f.moved)
	f.moved = make(chan struct{})
}
