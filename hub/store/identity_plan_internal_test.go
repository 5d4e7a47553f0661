package store

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/store/accounts"
)

// The hourly sweep of what belongs to tokens that are gone does not go through
// the tokens of the fleet.
func TestSweepOfOrphansReadsNoFleet(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		s := open(t)
		for _, sweep := range accounts.Orphans {
			plan := planOf(t, s, sweep, nil)
			for line := range strings.Lines(plan) {
				whole := strings.Contains(line, "SCAN tokens") || strings.Contains(line, "SCAN m") || strings.Contains(line, "Seq Scan on tokens")
				if whole && !strings.Contains(line, "tokens_by_maker") {
					t.Errorf("%s\n%s", sweep, plan)
				}
			}
		}
	})
}

// The bindings of one object are found by it, however many there are.
func TestBindingsOfAnObjectAreFoundByIt(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		s := open(t)
		plan := planOf(t, s, accounts.BindingsAt, []any{"project", "prj_default"})
		if !strings.Contains(plan, "bindings_by_object") || strings.Contains(plan, "Seq Scan on bindings") || strings.Contains(plan, "SCAN b") {
			t.Errorf("%s", plan)
		}
	})
}
