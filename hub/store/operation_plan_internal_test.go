package store

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/store/operations"
)

// No list of operations or of their targets reads more than it returns.
func TestOperationsAreFoundByAnIndex(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		s := open(t)
		for what, q := range map[string]struct {
			query string
			args  []any
			index string
		}{
			"all":                 {operations.Newest, []any{int64(1), "o", 20}, "operations_newest"},
			"those of a person":   {operations.OfActor, []any{int64(1), "o", 20, "usr"}, "operations_of_actor"},
			"those that run":      {operations.Running + " ORDER BY created_at, id LIMIT 1", nil, "operations_running"},
			"targets":             {operations.Listed, []any{"o", int64(0), int64(1), 20}, "operation_targets_listed"},
			"targets that failed": {operations.ListedFailed, []any{"o", int64(1), 20}, "operation_targets_listed"},
			"targets that wait":   {operations.Waiting, []any{"o", 20}, "operation_targets_waiting"},
			"those that are over": {operations.Old, []any{int64(1)}, "operations_ended"},
		} {
			if plan := planOf(t, s, q.query, q.args); !strings.Contains(plan, q.index) || strings.Contains(plan, "TEMP B-TREE") || strings.Contains(plan, "Sort") {
				t.Errorf("%s:\n%s", what, plan)
			}
		}
	})
}
