package sqldb

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// batchWindow is how long a report waits for others to share a commit.
	batchWindow = 100 * time.Millisecond
	// batchSize is the most reports that share a commit.
	batchSize = 500
	// batchQueue is the most reports that wait; more are told to retry.
	batchQueue = 10_000
)

// batcher combines small writes into few transactions with one feed row each.
type batcher struct {
	db *DB

	mu      sync.Mutex
	pending []*batched
	timer   *time.Timer
	closed  bool
	flushes sync.WaitGroup
	turn    sync.Mutex
}

// batched is one caller's part of a batch.
type batched struct {
	ctx    context.Context
	fn     func(ctx context.Context) error
	result chan error
	err    error
}

// WriteBatched is Write for the many small writes of agents: it waits up to 100
// ms and shares one commit and one feed row with up to 499 others. An error of
// fn rolls back only fn's part. It returns after the commit.
func (db *DB) WriteBatched(ctx context.Context, fn func(ctx context.Context) error) error {
	if Transaction(ctx) != nil {
		return fn(ctx)
	}
	b := &batched{ctx: ctx, fn: fn, result: make(chan error, 1)}
	if err := db.batch.add(b); err != nil {
		return err
	}
	select {
	case err := <-b.result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *batcher) add(one *batched) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return errcode.New(errcode.Unavailable, "the hub is stopping; try again").After(time.Second)
	}
	if len(b.pending) >= batchQueue {
		return errcode.New(errcode.Unavailable, "the database is behind with reports; try again in five seconds").After(5 * time.Second)
	}
	b.pending = append(b.pending, one)
	if len(b.pending) == 1 {
		b.flushes.Add(1)
		b.timer = time.AfterFunc(batchWindow, b.flush)
	}
	if len(b.pending) == batchSize && b.timer.Stop() {
		go b.flush()
	}
	return nil
}

// flush writes all waiting reports, batchSize at a time.
func (b *batcher) flush() {
	defer b.flushes.Done()
	b.turn.Lock()
	defer b.turn.Unlock()
	b.mu.Lock()
	pending := b.pending
	b.pending = nil
	b.mu.Unlock()
	for len(pending) > 0 {
		n := min(batchSize, len(pending))
		b.db.writeBatch(pending[:n])
		pending = pending[n:]
	}
}

// close refuses new writes and waits for those that were accepted.
func (b *batcher) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.flushes.Wait()
}

func (db *DB) writeBatch(batch []*batched) {
	position, err := db.writeAgain(context.Background(), func(ctx context.Context) error {
		for _, b := range batch {
			if b.err = db.writePart(ctx, b); Retryable(b.err) {
				return b.err
			}
		}
		return nil
	})
	for _, b := range batch {
		if err == nil && takenKey(b.err) != "" {
			// Its snapshot was too old; alone it gets a new one.
			b.result <- db.Write(b.ctx, b.fn)
			continue
		}
		if err == nil && b.err == nil && position != (event.Position{}) {
			event.Committed(b.ctx, position)
		}
		if b.err == nil {
			b.err = err
		}
		b.result <- b.err
	}
}

// writePart runs one caller's function inside a savepoint.
func (db *DB) writePart(ctx context.Context, b *batched) error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	if _, err := db.Exec(ctx, "SAVEPOINT part"); err != nil {
		return err
	}
	part, collected := event.WithCollector(partContext{ctx, b.ctx})
	if err := guarded(part, db.config.Log, b.fn); err != nil {
		if _, rerr := db.Exec(ctx, "ROLLBACK TO SAVEPOINT part"); rerr != nil {
			return rerr
		}
		return err
	}
	if _, err := db.Exec(ctx, "RELEASE SAVEPOINT part"); err != nil {
		return err
	}
	for _, e := range collected.Entries() {
		if err := event.Record(ctx, e); err != nil {
			return err
		}
	}
	if err := event.DependsOn(ctx, collected.Dependencies()...); err != nil {
		return err
	}
	return event.Append(ctx, collected.Changes()...)
}

// guarded turns a panic of fn into an error: fn runs for one agent among many,
// and not on that agent's request.
func guarded(ctx context.Context, log *slog.Logger, fn func(ctx context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("a part of a batch panicked", logkey.Reason, p, "stack", string(debug.Stack()))
			err = errcode.New(errcode.Internal, "a write panicked: %v", p)
		}
	}()
	return fn(ctx)
}

// partContext lives as long as the batch, because a caller that leaves must not
// end the others' transaction. It has its caller's values.
type partContext struct {
	context.Context
	caller context.Context
}

// Value looks first in the batch, which has the transaction, and then in the
// caller's context.
func (c partContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.caller.Value(key)
}
