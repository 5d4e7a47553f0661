package store

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/identity"
)

// What waits for a person is asked by each console that is open: of services that the hub does
// not know it reads those, by their index, and not the statuses of the fleet.
func TestOrphansAreFoundByTheirIndex(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		s := open(t)
		for name, of := range map[string]struct {
			cluster string
			reach   identity.Reach
		}{
			"of all":        {"", identity.Reach{Everywhere: true, Administrator: true}},
			"of a project":  {"", identity.Reach{Projects: []string{"prj_a"}}},
			"of one":        {"cls_a", identity.Reach{Everywhere: true, Administrator: true}},
			"of one within": {"cls_a", identity.Reach{Clusters: []string{"cls_a", "cls_b"}}},
		} {
			statement, args := orphansWithin(of.cluster, of.reach, 1000)
			if plan := planOf(t, s, statement, args); !strings.Contains(plan, "statuses_orphaned") {
				t.Errorf("orphans %s are not found by their index:\n%s", name, plan)
			}
		}
	})
}
