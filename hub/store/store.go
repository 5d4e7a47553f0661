package store

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/axle-cd/axle/hub/store/artifacts"
	"github.com/axle-cd/axle/hub/store/previews"
	"github.com/axle-cd/axle/hub/store/revisions"
	"github.com/axle-cd/axle/hub/store/statuses"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/hashchain"
	"github.com/axle-cd/axle/internal/lifecycle"
	"github.com/axle-cd/axle/internal/seal"
)

// Config configures where the rows are.
type Config struct {
	// DatabaseURL is postgres://…; empty means SQLite in DataDir.
	DatabaseURL string
	// DataDir is the hub's folder; SQLite keeps hub.db in it.
	DataDir string
	// KeyFile seals secrets at rest; empty is DataDir/hub.key. It is created at
	// the first start. All replicas of one Postgres must have the same.
	KeyFile string
	// Clock is the real one when nil.
	Clock clock.Clock
	// Log discards messages when nil.
	Log *slog.Logger
	// Wake is called after each commit that others should see, ours or another
	// replica's. It must not block. OnCommit adds more.
	Wake func()
}

// Store is the hub's database. Its methods, and those of the tables that it
// embeds, are safe for concurrent use.
type Store struct {
	*history
	*recipes
	*statusTable
	*compared
	dialect dialect
	// write is one connection on SQLite, a pool on Postgres.
	write *sql.DB
	// read is read-only.
	read *sql.DB
	// head is one more connection, which reads the end of the feed while a
	// transaction holds the feed's lock; see readHead.
	head   *sql.DB
	url    string
	clock  clock.Clock
	log    *slog.Logger
	sealer *seal.Sealer
	// alone refuses to share the database with a running hub; beside is for a
	// command that shares it.
	alone   bool
	beside  bool
	release func() error

	closed atomic.Bool
	// heard is set while announcements arrive.
	heard atomic.Bool

	mu    sync.Mutex
	wakes []func()
	// awayAt is when the log last reported an unavailable database.
	awayAt time.Time

	batch batcher
	// pruned is the progress of retention in the tables that it checks in pages.
	pruned   struct{ artifact, content, source string }
	announce chan struct{}
	// trace is called for each statement; only tests set it.
	trace func(statement string, args []any)
	// auditEnd is the end of the audit log when this process last wrote to it.
	auditEnd atomic.Pointer[hashchain.End]
}

// Open opens the database, upgrades its schema and creates the first
// incarnation when there is none. A second hub on the same SQLite file, and a
// schema that this version cannot use, are Conflict errors.
func Open(ctx context.Context, c Config) (*Store, error) {
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{clock: c.Clock, log: c.Log, url: c.DatabaseURL, announce: make(chan struct{}, 1), release: func() error { return nil }}
	s.furnish()
	if c.Wake != nil {
		s.wakes = append(s.wakes, c.Wake)
	}
	open := s.openSQLite
	if c.DatabaseURL != "" {
		open = s.openPostgres
	}
	if err := open(ctx, c); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.migrate(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.openKey(ctx, c); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.firstIncarnation(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// OpenBeside opens an existing hub's database for one command on the hub's
// machine, whether the hub runs or not. It changes no schema: a schema of
// another version is a Conflict, and a missing database is NotFound.
func OpenBeside(ctx context.Context, c Config) (*Store, error) {
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{clock: c.Clock, log: c.Log, url: c.DatabaseURL, announce: make(chan struct{}, 1), release: func() error { return nil }, beside: true}
	s.furnish()
	open := s.openSQLite
	if c.DatabaseURL != "" {
		open = s.openPostgres
	}
	err := open(ctx, c)
	if err == nil {
		err = s.schemaIsOurs(ctx)
	}
	if err == nil {
		err = s.openKey(ctx, c)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// The tables of the packages below.
type (
	history     = revisions.Table
	recipes     = artifacts.Table
	statusTable = statuses.Table
	compared    = previews.Table
)

// furnish gives the parts of the store their dependencies.
func (s *Store) furnish() {
	s.batch.store = s
	s.history, s.recipes, s.statusTable = revisions.New(database{s}, s.clock), artifacts.New(database{s}, s.clock), statuses.New(database{s})
	s.compared = previews.New(database{s})
}

// Close ends what is running and closes the database; calls after it are
// Unavailable. Run should have ended.
func (s *Store) Close() error {
	s.batch.close()
	s.closed.Store(true)
	var errs []error
	for _, db := range []*sql.DB{s.read, s.head, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	errs = append(errs, s.release())
	s.release = func() error { return nil }
	return errors.Join(errs...)
}

// OnCommit adds a function that is called after each commit that others should
// see, this replica's and others'. It must not block.
func (s *Store) OnCommit(wake func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wakes = append(s.wakes, wake)
}

func (s *Store) wake() {
	s.mu.Lock()
	wakes := s.wakes
	s.mu.Unlock()
	for _, wake := range wakes {
		wake()
	}
}

// Database names the kind of database: "sqlite" or "postgres".
func (s *Store) Database() string { return s.dialect.name }

// Ping returns an error when the database does not answer.
func (s *Store) Ping(ctx context.Context) error { return s.coded(s.read.PingContext(ctx)) }

// Run drops old rows and, on Postgres, exchanges announcements of commits with other
// replicas. Without it everything works, a second later. It ends with the context.
func (s *Store) Run(ctx context.Context) error {
	parts := []lifecycle.Part{{Name: "retention", Run: s.retain}}
	if s.dialect.name == "postgres" {
		parts = append(parts, lifecycle.Part{Name: "announcements", Run: s.announceCommits}, lifecycle.Part{Name: "listener", Run: s.listen})
	}
	return lifecycle.Run(ctx, parts...)
}
