package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pgcheck"
)

// Advisory locks of the hub's database. They are scoped to a database, so two
// hubs on one server do not conflict.
const (
	// FeedLock is held by the transaction that writes the feed.
	FeedLock    = 4_207_001
	migrateLock = 4_207_002
	// AliveLock is shared by running hubs and taken exclusively by a restore.
	AliveLock = 4_207_003
)

// writers and poolReaders limit the connections of one replica. With those for
// the end of the feed, for the lock of a running hub, and for sending and
// receiving announcements, a replica has at most 28.
const (
	writers     = 12
	poolReaders = 12
)

// connectWithin bounds one connection attempt.
const connectWithin = 10 * time.Second

func (db *DB) openPostgres(ctx context.Context) error {
	if err := db.connectPostgres(); err != nil || db.config.Use == Reads {
		return err
	}
	return db.holdAlive(ctx)
}

// connectPostgres creates the pools; connections are opened when they are needed.
func (db *DB) connectPostgres() error {
	db.dialect = postgresDialect
	config, err := pgx.ParseConfig(db.config.URL)
	if err != nil {
		// The parser's error may quote the URL, and with it the password.
		return errcode.New(errcode.Invalid, "--database-url is not a Postgres URL; write postgres://USER:PASSWORD@HOST:PORT/DATABASE")
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectWithin
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "axle-hub"
	}
	// A replica that stops within a transaction holds locks that others wait
	// for, including the feed's; the server ends it before a lease expires.
	db.Pools.Write = openPool(config, writers, map[string]string{"idle_in_transaction_session_timeout": "10000"})
	db.Pools.Read = openPool(config, poolReaders, map[string]string{"default_transaction_read_only": "on"})
	db.Pools.Head = openPool(config, 1, map[string]string{"default_transaction_read_only": "on", "statement_timeout": "10000"})
	return nil
}

func openPool(base *pgx.ConnConfig, size int, params map[string]string) *sql.DB {
	config := base.Copy()
	for _, limit := range []string{"statement_timeout", "idle_in_transaction_session_timeout"} {
		if config.RuntimeParams[limit] == "" {
			config.RuntimeParams[limit] = "60000"
		}
	}
	for name, value := range params {
		config.RuntimeParams[name] = value
	}
	pool := stdlib.OpenDB(*config)
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	pool.SetConnMaxLifetime(time.Hour)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	return pool
}

// holdAlive holds the lock of running hubs, which they share and a restore
// takes exclusively, on a separate connection for as long as the store is open.
func (db *DB) holdAlive(ctx context.Context) error {
	config, err := pgx.ParseConfig(db.config.URL)
	if err != nil {
		return err // connectPostgres has read it
	}
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("--database-url: %w", pgcheck.Explain(err, &config.Config))
	}
	db.release = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		// Postgres ends a session some time after the connection is closed, and whoever
		// opens the database next would still find the lock. A connection that is broken
		// has none.
		_, _ = conn.Exec(ctx, "SELECT pg_advisory_unlock_all()")
		return conn.Close(ctx)
	}
	if err := pgcheck.Suitable(ctx, conn.PgConn()); err != nil {
		return fmt.Errorf("--database-url: %w", err)
	}
	lock, busy := "SELECT pg_try_advisory_lock_shared($1)", "a backup is being restored into this database; start the hub when it has ended"
	if db.config.Use == Alone {
		lock, busy = "SELECT pg_try_advisory_lock($1)", "a hub runs on this database; stop all its replicas first"
	}
	var got bool
	if err := conn.QueryRow(ctx, lock, AliveLock).Scan(&got); err != nil {
		return fmt.Errorf("take the lock of a running hub: %w", err)
	}
	if !got {
		return errcode.New(errcode.Conflict, "%s", busy)
	}
	return nil
}
