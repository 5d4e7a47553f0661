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
	// pollInterval limits how late a replica sees another's commit when no
	// notification came.
	pollInterval = time.Second
	// announcedInterval is the same while notifications arrive; it only covers
	// lost ones.
	announcedInterval = 3 * time.Second
	// lifeInterval is how often an idle feed checks that the database's
	// incarnation is unchanged; with news, or after an error, it checks each
	// time.
	lifeInterval = 5 * time.Second
	// batch is how many rows are read at once.
	batch = 500
	// maxBackoff limits the pause after a failed read of the feed.
	maxBackoff = 5 * time.Second
	// readLimit limits one read of the feed with the updates of the indexes,
	// and rebuildLimit a complete rebuild: a connection that died silently must
	// not freeze this replica's view.
	readLimit    = 20 * time.Second
	rebuildLimit = 10 * time.Minute
)

// ErrTruncated is returned by Store.ChangesAfter when retention dropped rows
// after the given sequence.
var ErrTruncated = errors.New("rows of the change feed were dropped before this replica read them")

// Store reads the feed's rows.
type Store interface {
	// Incarnation returns the current incarnation of the database.
	Incarnation(ctx context.Context) (Incarnation, error)
	// LastSequence returns the highest sequence of the current incarnation, 0
	// when there is none.
	LastSequence(ctx context.Context) (int64, error)
	// ChangesAfter returns up to limit rows above the sequence in order, or
	// ErrTruncated.
	ChangesAfter(ctx context.Context, sequence int64, limit int) ([]Row, error)
}

// Repairer is a Store that can begin a new incarnation when the database lost
// committed rows, as in a fail-over.
type Repairer interface {
	// Repair checks whether the database still has seen, a position that this hub
	// issued, and begins a new incarnation when it does not. witness is the
	// cluster that showed it, empty when this replica knows it by itself.
	Repair(ctx context.Context, seen Position, witness string) error
}

// Subscriber maintains an index that follows the feed. Calls come one at a
// time.
type Subscriber interface {
	// Rebuild loads everything again; rows that are applied after it may be
	// older than what it read.
	Rebuild(ctx context.Context) error
	// Apply updates the index with the rows. After an error the feed tries the
	// same rows again later; the position does not move.
	Apply(ctx context.Context, rows []Row) error
}

// FeedConfig configures a Feed. Only Store is required.
type FeedConfig struct {
	Store Store
	Clock clock.Clock
	Log   *slog.Logger
	// Announced reports whether notifications of other replicas' commits
	// arrive, so that polling only covers lost ones. Nil is never.
	Announced func() bool
	// Proofs makes and verifies proofs of positions that this hub issued; nil
	// makes and accepts none.
	Proofs *Proofs
	// Registerer registers the metric of how late rows are applied.
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
	readAt      time.Time // when all existing rows had been applied
	ready       bool
	moved       chan struct{}
	recalled    evidence // not checked yet
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

// Wake makes the feed read rows now. It never blocks; the store calls it after
// each commit, and a notification from another replica does too.
func (f *Feed) Wake() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Position returns the position of this replica's indexes, zero until they are
// complete.
func (f *Feed) Position() Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.position
}

// Age returns how long ago this replica had applied every row: normally at most
// one second, three while commits are announced. Before the first time it is
// zero, and the feed is not ready.
func (f *Feed) Age() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.readAt.IsZero() {
		return 0
	}
	return max(0, f.clock.Now().Sub(f.readAt))
}

// Incarnation returns the incarnation of the database that this replica
// follows.
func (f *Feed) Incarnation() Incarnation {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.incarnation
}

// Ready returns nil once the indexes are complete, otherwise an Unavailable
// error.
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
	var looked time.Time // when a complete turn succeeded; zero requests one now
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
		f.log.Warn("the change feed cannot be read", logkey.Error, err)
		if jitter.Wait(ctx, backoff.Next()) != nil {
			return nil
		}
	}
	return nil
}

// pause waits for the next turn and returns when the last complete one was,
// zero when there is news.
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

// quiet reports, with one query, whether there is nothing new. When it is not
// sure, a complete turn finds out.
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

// turn rebuilds when needed, then applies all rows.
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
			f.log.Warn("this replica missed rows that retention has dropped; rebuilding its indexes", logkey.Position, f.Position().String())
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
	f.log.Info("indexes are complete", logkey.Position, f.Position().String())
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
		return 0, f.repair(ctx, evidence{at: Position{Incarnation: current.ID, Sequence: at}})
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
