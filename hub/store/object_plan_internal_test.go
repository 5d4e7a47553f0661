package store

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/store/objects"
)

// No statement about objects reads more of them than it returns.
func TestObjectsAreFoundByAnIndex(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		s := open(t)
		for what, q := range map[string]struct {
			query string
			args  []any
			index string
		}{
			"one of a name":        {objects.Named, []any{"k", "n"}, "objects_named"},
			"a page":               {objects.Page, []any{"k", "n", 20}, "objects_named"},
			"those of a kind":      {objects.Count, []any{"k"}, "objects_named"},
			"references of one":    {objects.OfObject, []any{"o"}, "object_references"},
			"what refers to one":   {objects.Users, []any{"t", 5}, "object_references_target"},
			"how many refer to it": {objects.UsersAre, []any{"t"}, "object_references_target"},
		} {
			if plan := planOf(t, s, q.query, q.args); !strings.Contains(plan, q.index) || strings.Contains(plan, "SCAN objects") || strings.Contains(plan, "Seq Scan") {
				t.Errorf("%s:\n%s", what, plan)
			}
		}
	})
}
