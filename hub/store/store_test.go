package store_test

import (
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

// databases is what every test of the contract runs on.
var databases = map[string]func(t *testing.T) place{
	"sqlite": func(t *testing.T) place {
		return place{store.Config{DataDir: t.TempDir()}}
	},
	"postgres": func(t *testing.T) place {
		return place{store.Config{DatabaseURL: pg.New(t), DataDir: t.TempDir()}}
	},
}

// onBoth runs a test on a fresh, empty database of each kind.
func onBoth(t *testing.T, test func(t *testing.T, p place)) {
	for name, make := range databases {
		t.Run(name, func(t *testing.T) { test(t, make(t)) })
	}
}
