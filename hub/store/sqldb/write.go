package sqldb

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
func (db *DB) Write(ctx context.Context, fn func(ctx context.Context) error) error {
	if Transaction(ctx) != nil {
		return fn(ctx)
	}
	position, err := db.writeAgain(ctx, fn)
	if err != nil {
		return err
	}
	if position != (event.Position{}) {
		event.Committed(ctx, position)
	}
	return nil
}

// WriteOne is Write for a function of one statement without changes for the
// feed: renewals, heartbeats. On Postgres the statement is its own transaction,
// with one round trip instead of three, which matters because an idle replica
// runs these all day.
func (db *DB) WriteOne(ctx context.Context, fn func(ctx context.Context) error) error {
	if !db.Postgres() || Transaction(ctx) != nil {
		return db.Write(ctx, fn)
	}
	lone, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	err := fn(context.WithValue(lone, loneKey{}, Runner(db.Pools.Write)))
	if Retryable(err) {
		return db.Write(ctx, fn)
	}
	return db.Coded(err)
}

// writeAgain runs a transaction until it commits or fails for good, and returns
// the position of its feed row, zero when it had none.
func (db *DB) writeAgain(ctx context.Context, fn func(ctx context.Context) error) (event.Position, error) {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	backoff := jitter.Backoff{Min: 5 * time.Millisecond, Max: 500 * time.Millisecond}
	taken := ""
	for try := 1; ; try++ {
		position, err := db.writeOnce(ctx, fn)
		if err == nil {
			if position != (event.Position{}) {
				db.config.Committed()
			}
			return position, nil
		}
		key := takenKey(err)
		if !Retryable(err) && (key == "" || key == taken) {
			return event.Position{}, db.Coded(err)
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

func (db *DB) writeOnce(ctx context.Context, fn func(ctx context.Context) error) (event.Position, error) {
	var position event.Position
	err := db.Once(ctx, func(ctx context.Context) error {
		inner, collected := event.WithCollector(ctx)
		err := fn(inner)
		if err == nil {
			position, err = db.config.Finish(inner, collected)
		}
		return err
	})
	if err != nil {
		return event.Position{}, err
	}
	return position, nil
}

// Once runs fn in one transaction, without retries and without a feed row.
func (db *DB) Once(ctx context.Context, fn func(ctx context.Context) error) error {
	tx, err := db.Pools.Write.BeginTx(ctx, &sql.TxOptions{Isolation: db.dialect.isolation})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	// After a commit this does nothing; after an error or a panic of fn it
	// releases the connection, which is the only one on SQLite.
	defer func() { _ = tx.Rollback() }()
	if err := fn(context.WithValue(ctx, transactionKey{}, tx)); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}
