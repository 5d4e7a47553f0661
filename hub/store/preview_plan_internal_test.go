package store

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/store/previews"
)

// An agent's request for specs reads only the previews of its own cluster, by
// their index, whatever other clusters wait for.
func TestOpenPreviewsAreFoundByTheirCluster(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		s := open(t)
		if plan := planOf(t, s, previews.Open, []any{"c", int64(0)}); !strings.Contains(plan, "previews_open") {
			t.Errorf("the open ones of a cluster:\n%s", plan)
		}
		if plan := planOf(t, s, previews.On, []any{"c", int64(0), "p"}); !strings.Contains(plan, "previews_open") {
			t.Errorf("those of a project on a cluster:\n%s", plan)
		}
		if plan := planOf(t, s, previews.Drop, []any{int64(0)}); !strings.Contains(plan, "previews_age") {
			t.Errorf("those that are over:\n%s", plan)
		}
	})
}
