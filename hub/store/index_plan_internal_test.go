package store

import (
	"regexp"
	"testing"

	"github.com/axle-cd/axle/hub/store/indexed"
	"github.com/axle-cd/axle/hub/store/query"
)

// wholeTable matches a step that reads all of a table.
var wholeTable = regexp.MustCompile(`(?m)^\s*(?:->\s+)?(?:SCAN (?:services|clusters|statuses|heads|repositories|projects|contents|service_sources|global_services|events|[scrpgotxh])\b|Seq Scan)`)

// The index of the fleet is loaded by one statement per table when a replica starts.
// Every other statement of it, and every page of changes, reads what it names.
func TestTheIndexOfTheFleetReadsWhatChanged(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		s := open(t)
		statements := map[string]struct {
			text string
			args []any
		}{
			"services":       {indexed.ServicesByID(2), []any{"a", "b"}},
			"sources":        {indexed.FailingByID(2), []any{"a", "b"}},
			"followers":      {indexed.OfSource, []any{"a", "b", 500}},
			"recent changes": {selectEvents + "WHERE id > $1 AND id < $3 ORDER BY id DESC LIMIT $2", []any{0, 100, 5000}},
			"of a cluster":   {selectEvents + "WHERE id > $1 AND id < $3 AND cluster = $4 ORDER BY id DESC LIMIT $2", []any{0, 100, 5000, "a"}},
			"window":         {selectServices + "WHERE s.id IN (" + query.Placeholders(1, 2) + ") ORDER BY s.id", []any{"a", "b"}},
			"destroying":     {selectDestroying, nil},
			"made on":        {selectMadeOn, []any{"a"}},
			"clusters shown": {selectClusters + "WHERE c.id IN (" + query.Placeholders(1, 2) + ")", []any{"a", "b"}},
		}
		for name, text := range indexed.ObjectsByID(2) {
			statements[name] = struct {
				text string
				args []any
			}{text, []any{"a", "b"}}
		}
		for name, statement := range statements {
			if plan := planOf(t, s, statement.text, statement.args); wholeTable.MatchString(plan) {
				t.Errorf("%s reads a whole table:\n%s", name, plan)
			}
		}
		if plan := planOf(t, s, "SELECT id FROM services WHERE namespace = $1", []any{"a"}); !wholeTable.MatchString(plan) {
			t.Errorf("a whole table is not recognised in:\n%s", plan)
		}
	})
}
