package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
)

const (
	// writeLimit limits one Write with all its retries.
	writeLimit = 30 * time.Second
	// writeTries limits how often a transaction is run.
	writeTries = 12
)

// Write runs fn in a transaction that its context carries, and commits it with the
// events and changes that fn appended. Inside another Write it joins that one. When
// the database requires a retry, fn runs again, so fn must change nothing but rows.
func (s *Store) Write(ctx context.Context, fn func(ctx context.Context) error) error {
	if transaction(ctx) != nil {
		return fn(ctx)
	}
	position, err := s.writeAgain(ctx, fn)
	if err != nil {
		return err
	}
	if position != (event.Position{}) {
		event.Committed(ctx, position)
	}
	return nil
}

// writeOne is Write for a function of one statement without changes for the
// feed: renewals, heartbeats. On Postgres the statement is its own transaction,
// with one round trip instead of three, which matters because an idle replica
// runs these all day.
func (s *Store) writeOne(ctx context.Context, fn func(ctx context.Context) error) error {
	if s.dialect.name != "postgres" || transaction(ctx) != nil {
		return s.Write(ctx, fn)
	}
	lone, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	err := fn(context.WithValue(lone, loneKey{}, runner(s.write)))
	if retryable(err) {
		return s.Write(ctx, fn)
	}
	return s.coded(err)
}

// writeAgain runs a transaction until it commits or fails for good, and returns
// the position of its feed row, zero when it had none.
func (s *Store) writeAgain(ctx context.Context, fn func(ctx context.Context) error) (event.Position, error) {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	backoff := jitter.Backoff{Min: 5 * time.Millisecond, Max: 500 * time.Millisecond}
	taken := ""
	for try := 1; ; try++ {
		position, err := s.writeOnce(ctx, fn)
		if err == nil {
			if position != (event.Position{}) {
				s.committed()
			}
			return position, nil
		}
		key := takenKey(err)
		if !retryable(err) && (key == "" || key == taken) {
			return event.Position{}, s.coded(err)
		}
		taken = key
		if try == writeTries {
			return event.Position{}, errcode.Hide(errcode.Unavailable, err, "the database was too busy for this change; try again in a second").After(time.Second)
		}
		if werr := jitter.Wait(ctx, backoff.Next()); werr != nil {
			return event.Position{}, errors.Join(werr, err)
		}
	}
}

func (s *Store) writeOnce(ctx context.Context, fn func(ctx context.Context) error) (event.Position, error) {
	tx, err := s.write.BeginTx(ctx, &sql.TxOptions{Isolation: s.dialect.isolation})
	if err != nil {
		return event.Position{}, fmt.Errorf("begin: %w", err)
	}
	// After a commit this does nothing; after an error or a panic of fn it
	// releases the connection, which is the only one on SQLite.
	defer func() { _ = tx.Rollback() }()
	inner, collected := event.WithCollector(context.WithValue(ctx, transactionKey{}, tx))
	if err := fn(inner); err != nil {
		return event.Position{}, err
	}
	position, err := s.appendFeed(inner, collected)
	if err != nil {
		return event.Position{}, err
	}
	if err := tx.Commit(); err != nil {
		return event.Position{}, fmt.Errorf("commit: %w", err)
	}
	return position, nil
}

// committed notifies this replica and, on Postgres, the others.
func (s *Store) committed() {
	s.wake()
	select {
	case s.announce <- struct{}{}:
	default:
	}
}
