package store_test

import (
	"testing"

	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/store/storetest"
)

// place is what the tests of identity call a database.
type place struct{ storetest.Database }

func (p place) open(t *testing.T) *store.Store {
	t.Helper()
	return p.Open(t)
}

func onBoth(t *testing.T, test func(t *testing.T, p place)) {
	t.Helper()
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) { test(t, place{d}) })
}
