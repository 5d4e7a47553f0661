package store_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/test/pg"
)

// place is a database that stores can be opened on, more than once.
type place struct {
	config store.Config
}

// open opens a store that is closed with the test.
func (p place) open(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), p.config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// databases are empty; tests of the contract get databases with the schema, see
// onBoth.
var databases = map[string]func(t *testing.T) place{
	"sqlite": func(t *testing.T) place {
		return place{store.Config{DataDir: t.TempDir()}}
	},
	"postgres": func(t *testing.T) place {
		return place{store.Config{DatabaseURL: pg.New(t), DataDir: t.TempDir()}}
	},
}

// onEmpty runs a test on an empty database of each kind.
func onEmpty(t *testing.T, test func(t *testing.T, p place)) {
	for name, make := range databases {
		t.Run(name, func(t *testing.T) { test(t, make(t)) })
	}
}

// onBoth runs a test on a fresh database of each kind, in the state before a
// store's first start. Creating the tables for each test would take longer than
// most tests.
func onBoth(t *testing.T, test func(t *testing.T, p place)) {
	t.Run("sqlite", func(t *testing.T) { test(t, onFile(t)) })
	t.Run("postgres", func(t *testing.T) {
		url := pg.NewLike(t, "schema", func(url string) error {
			return store.MakeSchema(t.Context(), store.Config{DatabaseURL: url})
		})
		test(t, place{store.Config{DatabaseURL: url, DataDir: t.TempDir()}})
	})
}

// onFile is the SQLite database of onBoth.
func onFile(t *testing.T) place {
	t.Helper()
	file, err := schemaFile()
	if err != nil {
		t.Fatal(err)
	}
	p := place{store.Config{DataDir: t.TempDir()}}
	if err := os.WriteFile(filepath.Join(p.config.DataDir, "hub.db"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// schemaFile is SQLite's database with its tables.
var schemaFile = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "axle-schema-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := store.MakeSchema(context.Background(), store.Config{DataDir: dir}); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "hub.db"))
})
