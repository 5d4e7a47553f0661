package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/axle-cd/axle/internal/errcode"
)

// Advisory locks of the hub's database. They are keyed per database, so two
// hubs on one server do not meet.
const (
	feedLock    = 4_207_001
	migrateLock = 4_207_002
	// aliveLock is shared by running hubs and taken whole by a restore.
	aliveLock = 4_207_003
)

// writers and poolReaders bound the connections of one replica; with the one
// for the head of the feed and the listener a replica holds at most 26.
const (
	writers     = 12
	poolReaders = 12
)

func (s *Store) openPostgres(ctx context.Context, c Config) error {
	s.dialect = postgresDialect
	config, err := pgx.ParseConfig(c.DatabaseURL)
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
	s.write = openPool(config, writers, nil)
	s.read = openPool(config, poolReaders, map[string]string{"default_transaction_read_only": "on"})
	s.head = openPool(config, 1, map[string]string{"default_transaction_read_only": "on", "statement_timeout": "10000"})
	if err := s.write.PingContext(ctx); err != nil {
		return fmt.Errorf("connect to Postgres at %s:%d: %w", config.Host, config.Port, err)
	}
	return s.stayAlive(ctx)
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
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	db.SetConnMaxLifetime(time.Hour)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return db
}

// stayAlive holds the shared lock that a restore waits for, on a connection
// of its own for as long as the store is open.
func (s *Store) stayAlive(ctx context.Context) error {
	config, err := pgx.ParseConfig(s.url)
	if err != nil {
		return errcode.New(errcode.Invalid, "--database-url is not a Postgres URL")
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connect to Postgres: %w", err)
	}
	s.release = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		return conn.Close(ctx)
	}
	var got bool
	if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock_shared($1)", aliveLock).Scan(&got); err != nil {
		return fmt.Errorf("take the lock of a running hub: %w", err)
	}
	if !got {
		return errcode.New(errcode.Conflict, "a backup is being restored into this database; start the hub when it has ended")
	}
	return nil
}
