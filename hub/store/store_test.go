package store_test

import (
	"testing"

	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/seal"
)

// What follows is storetest and fleettest by the names that the tests of identity use.

type place struct{ storetest.Database }

func onBoth(t *testing.T, test func(t *testing.T, p place)) {
	t.Helper()
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) { test(t, place{d}) })
}

type yard struct {
	*fleettest.Fleet
	store  *store.Store
	clock  *clock.Manual
	sealer *seal.Sealer
}

func newYard(t *testing.T, p place) *yard {
	t.Helper()
	f := fleettest.New(t, p.Database)
	return &yard{f, f.Store, f.Clock, f.Sealer}
}

func wantAbsent(t *testing.T, p place, text string, tables ...string) {
	t.Helper()
	p.WantAbsent(t, text, tables...)
}

func wantCode(t *testing.T, err error, code errcode.Code) {
	t.Helper()
	fleettest.WantCode(t, err, code)
}
