package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
)

const (
	// writeLimit bounds one Write with all its tries.
	writeLimit = 30 * time.Second
	// writeTries bounds how often a transaction is run.
	writeTries = 12
)

// Write runs fn in a transaction that its context carries, and commits it with
// the events and changes that fn appended. Inside another Write it joins that
// one. When the database asks for it, fn runs again, so it must not change
// anything but rows until it returns nil for good.
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

// writeAgain runs transactions until one commits or fails for good, and
// returns the position of its feed row, zero when it had none.
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
			return event.Position{}, err
		}
		taken = key
		if try == writeTries {
			return event.Position{}, errcode.New(errcode.Unavailable, "the database was too busy for this change; try again in a second: %w", err).After(time.Second)
		}
		if werr := jitter.Wait(ctx, backoff.Next()); werr != nil {
			return event.Position{}, errors.Join(werr, err)
		}
	}
}

func (s *Store) writeOnce(ctx context.Context, fn func(ctx context.Context) error) (_ event.Position, err error) {
	tx, err := s.write.BeginTx(ctx, &sql.TxOptions{Isolation: s.dialect.isolation})
	if err != nil {
		return event.Position{}, fmt.Errorf("begin: %w", err)
	}
	defer func() {
		if err != nil {
			// The first error says why; a failed rollback ends the connection.
			_ = tx.Rollback()
		}
	}()
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

// committed tells this replica and, on Postgres, the others.
func (s *Store) committed() {
	s.wake()
	select {
	case s.announce <- struct{}{}:
	default:
	}
}

// retryable reports whether the database asks to run the transaction again.
func retryable(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		// Serialisation failure, deadlock, lock not available.
		return pg.Code == "40001" || pg.Code == "40P01" || pg.Code == "55P03"
	}
	var lite *sqlite.Error
	if errors.As(err, &lite) {
		const busy, locked = 5, 6
		return lite.Code()&0xff == busy || lite.Code()&0xff == locked
	}
	return false
}

// takenKey names the key of a row that exists already, on Postgres. The other
// row may be younger than the transaction's view, which counted up to the same
// number, so the transaction is run once more: with the same key again, the
// caller wants what cannot be.
func takenKey(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "23505" {
		return pg.TableName + " " + pg.ConstraintName + " " + pg.Detail
	}
	return ""
}

// duplicate reports whether a row with the same unique key exists.
func duplicate(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code == "23505"
	}
	var lite *sqlite.Error
	if errors.As(err, &lite) {
		const primaryKey, unique = 1555, 2067
		return lite.Code() == primaryKey || lite.Code() == unique
	}
	return false
}
