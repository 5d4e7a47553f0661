package store

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/store/accounts"
	"github.com/axle-cd/axle/hub/store/applications"
	"github.com/axle-cd/axle/hub/store/artifacts"
	"github.com/axle-cd/axle/hub/store/auditlog"
	"github.com/axle-cd/axle/hub/store/configuration"
	"github.com/axle-cd/axle/hub/store/globals"
	"github.com/axle-cd/axle/hub/store/notifications"
	"github.com/axle-cd/axle/hub/store/objects"
	"github.com/axle-cd/axle/hub/store/operations"
	"github.com/axle-cd/axle/hub/store/previews"
	"github.com/axle-cd/axle/hub/store/revisions"
	"github.com/axle-cd/axle/hub/store/rollouts"
	"github.com/axle-cd/axle/hub/store/signins"
	"github.com/axle-cd/axle/hub/store/sources"
	"github.com/axle-cd/axle/hub/store/sqldb"
	"github.com/axle-cd/axle/hub/store/statuses"
	"github.com/axle-cd/axle/internal/clock"
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
	*accountTable
	*auditTable
	*configTable
	*rolloutTable
	*sourceTable
	*history
	*recipes
	*statusTable
	*compared
	*globalTable
	*holdTable
	*notificationTable
	*operationTable
	*objectTable
	*clientTable
	*signinTable
	db     *sqldb.DB
	url    string
	clock  clock.Clock
	log    *slog.Logger
	sealer *seal.Sealer
	// heard is set while announcements arrive.
	heard atomic.Bool

	mu    sync.Mutex
	wakes []func()
	// pruned is the progress of retention in the tables that it checks in pages.
	pruned   struct{ artifact, content string }
	announce chan struct{}
}

// Open opens the database, upgrades its schema and creates the first
// incarnation when there is none. A second hub on the same SQLite file, and a
// schema that this version cannot use, are Conflict errors.
func Open(ctx context.Context, c Config) (*Store, error) {
	s, err := open(ctx, c, sqldb.Hub)
	if err != nil {
		return nil, err
	}
	if c.Wake != nil {
		s.wakes = append(s.wakes, c.Wake)
	}
	err = s.db.Migrate(ctx, Schema())
	if err == nil {
		err = s.openKey(ctx, c)
	}
	if err == nil {
		err = s.firstIncarnation(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// open opens the database without reading it.
func open(ctx context.Context, c Config, use sqldb.Use) (s *Store, err error) {
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s = &Store{clock: c.Clock, log: c.Log, url: c.DatabaseURL, announce: make(chan struct{}, 1)}
	s.db, err = sqldb.Open(ctx, sqldb.Config{
		URL: c.DatabaseURL, DataDir: c.DataDir, Use: use, Clock: c.Clock, Log: c.Log, Finish: s.appendFeed, Committed: s.committed,
	})
	if err != nil {
		return nil, err
	}
	s.history, s.recipes, s.statusTable = revisions.New(s.db, s.clock), artifacts.New(s.db, s.clock), statuses.New(s.db)
	s.compared, s.accountTable, s.auditTable = previews.New(s.db), accounts.New(s.db, s.SetSetting), auditlog.New(s.db)
	s.notificationTable, s.operationTable = notifications.New(s.db), operations.New(s.db)
	s.objectTable, s.clientTable, s.signinTable = objects.New(s.db), applications.New(s.db), signins.New(s.db)
	s.globalTable = globals.New(s.db, s.history, s.clock)
	s.holdTable = globals.NewHolds(s.db)
	s.sourceTable = sources.New(s.db, s.Sealer, s.recipes.PutArtifacts)
	s.configTable, s.rolloutTable = configuration.New(s.db), rollouts.New(s.db)
	return s, nil
}

// OpenBeside opens an existing hub's database for one command on the hub's
// machine, whether the hub runs or not. It changes no schema: a schema of
// another version is a Conflict, and a missing database is NotFound.
func OpenBeside(ctx context.Context, c Config) (*Store, error) {
	s, err := open(ctx, c, sqldb.Beside)
	if err != nil {
		return nil, err
	}
	err = s.db.CheckSchema(ctx, Schema())
	if err == nil {
		err = s.openKey(ctx, c)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

var (
	_ gitcache.Store          = (*Store)(nil)
	_ gitcache.PlacementStore = (*Store)(nil)
	_ gitcache.WebhookStore   = (*Store)(nil)
)

// The tables of the packages below.
type (
	accountTable      = accounts.Table
	auditTable        = auditlog.Table
	configTable       = configuration.Table
	rolloutTable      = rollouts.Table
	sourceTable       = sources.Table
	history           = revisions.Table
	recipes           = artifacts.Table
	statusTable       = statuses.Table
	compared          = previews.Table
	globalTable       = globals.Table
	holdTable         = globals.Holds
	notificationTable = notifications.Table
	operationTable    = operations.Table
	objectTable       = objects.Table
	clientTable       = applications.Table
	signinTable       = signins.Table
)

// Close ends what is running and closes the database; calls after it are
// Unavailable. Run should have ended.
func (s *Store) Close() error { return s.db.Close() }

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

// committed notifies this replica and, on Postgres, the others.
func (s *Store) committed() {
	s.wake()
	select {
	case s.announce <- struct{}{}:
	default:
	}
}

// Database names the kind of database: "sqlite" or "postgres".
func (s *Store) Database() string { return s.db.Kind() }

// Ping returns an error when the database does not answer.
func (s *Store) Ping(ctx context.Context) error { return s.db.Ping(ctx) }

// Run drops old rows and, on Postgres, exchanges announcements of commits with other
// replicas. Without it everything works, a second later. It ends with the context.
func (s *Store) Run(ctx context.Context) error {
	parts := []lifecycle.Part{{Name: "retention", Run: s.retain}}
	if s.db.Postgres() {
		parts = append(parts, lifecycle.Part{Name: "announcements", Run: s.announceCommits}, lifecycle.Part{Name: "listener", Run: s.listen})
	}
	return lifecycle.Run(ctx, parts...)
}
