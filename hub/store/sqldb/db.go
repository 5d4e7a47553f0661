package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/internal/clock"
)

// Use says for what a database is opened.
type Use int

const (
	// Hub is for a hub. It creates a missing database and shares Postgres with
	// other replicas.
	Hub Use = iota
	// Alone refuses to share the database with a running hub.
	Alone
	// Beside is for a command that shares it; the database must exist.
	Beside
	// Reads is for a command that only reads, whether a hub runs or not.
	Reads
)

// Config configures where the rows are and which functions a commit calls.
type Config struct {
	// URL is postgres://…; empty means SQLite in DataDir.
	URL string
	// DataDir is the hub's folder; SQLite keeps hub.db in it.
	DataDir string
	Use     Use
	// Clock and Log must be set.
	Clock clock.Clock
	Log   *slog.Logger
	// Finish runs last in each transaction of Write, with what its function
	// collected, and returns the position of its feed row, zero for none.
	Finish func(ctx context.Context, collected *event.Collector) (event.Position, error)
	// Committed is called after a commit with a feed row. It must not block.
	Committed func()
}

// DB is the hub's database. Its methods are safe for concurrent use.
type DB struct {
	dialect dialect
	config  Config
	// Pools are nil where the database or the Use does not need them.
	Pools struct {
		// Write is one connection on SQLite, a pool on Postgres.
		Write *sql.DB
		// Read is read-only.
		Read *sql.DB
		// Head is one more connection, on Postgres only, which reads what a
		// transaction's own snapshot is too old for.
		Head *sql.DB
	}
	// Trace is called for each statement; only tests set it.
	Trace func(statement string, args []any)

	release func() error
	closed  atomic.Bool
	batch   batcher

	mu sync.Mutex
	// awayAt is when the log last reported an unavailable database.
	awayAt time.Time
}

var _ query.DB = (*DB)(nil)

// Open opens the database and does not change its schema. A second hub on one
// SQLite file is a Conflict; a missing database is NotFound for Beside and Reads.
func Open(ctx context.Context, c Config) (*DB, error) {
	db := &DB{config: c, release: func() error { return nil }}
	db.batch.db = db
	open := db.openSQLite
	if c.URL != "" {
		open = db.openPostgres
	}
	if err := open(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Close ends what is running and closes the database; calls after it are
// Unavailable.
func (db *DB) Close() error {
	db.batch.close()
	db.closed.Store(true)
	var errs []error
	for _, pool := range []*sql.DB{db.Pools.Read, db.Pools.Head, db.Pools.Write} {
		if pool != nil {
			errs = append(errs, pool.Close())
		}
	}
	errs = append(errs, db.release())
	db.release = func() error { return nil }
	return errors.Join(errs...)
}

// Kind names the kind of database: "sqlite" or "postgres".
func (db *DB) Kind() string { return db.dialect.name }

// Postgres reports whether the database is Postgres.
func (db *DB) Postgres() bool { return db.dialect.name == "postgres" }

// Ping returns an error when the database does not answer.
func (db *DB) Ping(ctx context.Context) error { return db.Coded(db.Pools.Read.PingContext(ctx)) }
