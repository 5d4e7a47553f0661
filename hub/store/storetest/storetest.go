package storetest

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/store/sqldb"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/test/pg"
)

// Main runs a package's tests, ends Postgres and exits. A TestMain calls it.
func Main(m *testing.M) { pg.Main(m) }

// Store is what Open returns, by a name for packages that do not import hub/store.
type Store = store.Store

// Database is a database that stores can be opened on, more than once.
type Database struct {
	// Config may be changed before Open.
	Config store.Config
}

// OnBoth runs a test on SQLite and on Postgres, in parallel with others of the
// package. The database is as before a store's first start, with its tables.
func OnBoth(t *testing.T, test func(t *testing.T, d Database)) {
	t.Helper()
	on(t, test, SQLite, Postgres)
}

// OnEmpty is OnBoth on databases without tables.
func OnEmpty(t *testing.T, test func(t *testing.T, d Database)) {
	t.Helper()
	on(t, test, EmptySQLite, EmptyPostgres)
}

func on(t *testing.T, test func(t *testing.T, d Database), lite, postgres func(tb testing.TB) Database) {
	t.Helper()
	t.Parallel()
	for name, create := range map[string]func(tb testing.TB) Database{"sqlite": lite, "postgres": postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, create(t))
		})
	}
}

// SQLite returns a new database with the tables.
func SQLite(tb testing.TB) Database {
	tb.Helper()
	file, err := tables()
	if err != nil {
		tb.Fatal(err)
	}
	d := EmptySQLite(tb)
	if err := os.WriteFile(d.file(), file, 0o600); err != nil {
		tb.Fatal(err)
	}
	return d
}

// Postgres returns a new database with the tables.
func Postgres(tb testing.TB) Database {
	tb.Helper()
	url := pg.NewLike(tb, "schema", func(url string) error { return migrate(tb.Context(), sqldb.Config{URL: url}) })
	return Database{store.Config{DatabaseURL: url, DataDir: folder(tb)}}
}

// EmptySQLite returns a data folder without a database.
func EmptySQLite(tb testing.TB) Database {
	tb.Helper()
	return Database{store.Config{DataDir: folder(tb)}}
}

// EmptyPostgres returns a new database without tables.
func EmptyPostgres(tb testing.TB) Database {
	tb.Helper()
	return Database{store.Config{DatabaseURL: pg.New(tb), DataDir: folder(tb)}}
}

// Open opens a store that is closed with the test.
func (d Database) Open(tb testing.TB) *store.Store {
	tb.Helper()
	s, err := store.Open(tb.Context(), d.Config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// IsPostgres reports whether it is Postgres.
func (d Database) IsPostgres() bool { return d.Config.DatabaseURL != "" }

// SQL opens the database beside the store until the test ends.
func (d Database) SQL(tb testing.TB) *sql.DB {
	tb.Helper()
	db, err := d.open()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() }) // nothing waits in it
	return db
}

func (d Database) open() (*sql.DB, error) {
	if !d.IsPostgres() {
		return sql.Open("sqlite", sqldb.SQLiteURL(d.file(), "deferred", []string{"busy_timeout(5000)"}))
	}
	config, err := pgx.ParseConfig(d.Config.DatabaseURL)
	if err != nil {
		return nil, err
	}
	return stdlib.OpenDB(*config), nil
}

func (d Database) file() string { return filepath.Join(d.Config.DataDir, "hub.db") }

// tables is the file of a SQLite database with its tables.
var tables = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "axle-schema-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := migrate(context.Background(), sqldb.Config{DataDir: dir}); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "hub.db"))
})

// migrate creates the tables, without a key or an incarnation.
func migrate(ctx context.Context, c sqldb.Config) error {
	c.Clock, c.Log = clock.Real{}, slog.New(slog.DiscardHandler)
	c.Finish = func(context.Context, *event.Collector) (event.Position, error) { return event.Position{}, nil }
	db, err := sqldb.Open(ctx, c)
	if err != nil {
		return err
	}
	return errors.Join(db.Migrate(ctx, store.Schema()), db.Close())
}
