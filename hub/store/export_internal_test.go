package store

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"

	"github.com/axle-cd/axle/internal/clock"
)

// MakeSchema makes a database that has its tables and nothing else, neither a
// key nor a life.
func MakeSchema(ctx context.Context, c Config) error {
	s := &Store{clock: clock.Real{}, log: slog.New(slog.DiscardHandler), url: c.DatabaseURL, announce: make(chan struct{}, 1), release: func() error { return nil }}
	s.furnish()
	open := s.openSQLite
	if c.DatabaseURL != "" {
		open = s.openPostgres
	}
	err := open(ctx, c)
	if err == nil {
		err = s.migrate(ctx)
	}
	return errors.Join(err, s.Close())
}

// Disconnect ends the connections that are not in use; the next statements
// make new ones.
func (s *Store) Disconnect() {
	for _, pool := range []*sql.DB{s.write, s.read, s.head} {
		pool.SetMaxIdleConns(0)
		pool.SetMaxIdleConns(poolReaders)
	}
}

// Trace tells of each statement that runs from now on; nil ends it.
func (s *Store) Trace(fn func(statement string, args []any)) { s.trace = fn }
