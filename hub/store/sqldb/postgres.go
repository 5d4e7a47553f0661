package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/axle-cd/axle/internal/errcode"
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

func (db *DB) openPostgres(ctx context.Context) error {
	if err := db.connectPostgres(); err != nil || db.config.Use == Reads {
		return err
	}
	if err := db.Pools.Write.PingContext(ctx); err != nil {
		return fmt.Errorf("connect to Postgres: %w", err)
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
		config.ConnectTimeout = 10 * time.Second
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
	conn, err := pgx.Connect(ctx, db.config.URL)
	if err != nil {
		return fmt.Errorf("connect to Postgres: %w", err)
	}
	db.release = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		return conn.Close(ctx)
	}
	if err := suitable(ctx, conn); err != nil {
		return err
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

// oldestPostgres is the oldest version that its project still supports.
const oldestPostgres = 14

// suitable refuses a database in which the hub could not live: too old, of another
// encoding, or one that takes no writes, such as a standby.
func suitable(ctx context.Context, conn *pgx.Conn) error {
	var version int
	var encoding, readOnly string
	var standby bool
	const ask = "SELECT current_setting('server_version_num')::int, current_setting('server_encoding'), current_setting('default_transaction_read_only'), pg_is_in_recovery()"
	if err := conn.QueryRow(ctx, ask).Scan(&version, &encoding, &readOnly, &standby); err != nil {
		return fmt.Errorf("ask Postgres about itself: %w", err)
	}
	switch {
	case version/10000 < oldestPostgres:
		return errcode.New(errcode.Invalid, "the Postgres of --database-url is version %d: the hub needs %d or newer", version/10000, oldestPostgres)
	case encoding != "UTF8":
		return errcode.New(errcode.Invalid, "the database of --database-url has the encoding %s: make one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0", encoding)
	case standby:
		return errcode.New(errcode.Invalid, "the Postgres of --database-url is a standby, which takes no writes: give the URL of the primary")
	case readOnly == "on":
		return errcode.New(errcode.Invalid, "the database of --database-url takes no writes (default_transaction_read_only is on): give a user or a database that may write")
	}
	return nil
}
