package store

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/fleet"
)

// A template creates a service of one name on every cluster. Finding one of
// them, and reading a page of one cluster's services, reads what it returns and
// not the whole fleet, even in a database without statistics.
func TestOneServiceIsFoundAmongItsNamesakes(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		s := open(t)
		page, args, order := servicesAfter("edge-7", fleet.Ref{Cluster: "edge-7", Name: "a"})
		for name, statement := range map[string]string{
			"one":  selectServices + ofRef,
			"page": selectServices + "WHERE " + strings.Join(page, " AND ") + " ORDER BY " + order + " LIMIT 100",
			// A filter stays within the order of the list: there is no index by manager.
			"managed": selectServices + "WHERE " + strings.Join(page, " AND ") + " AND s.managed_by_tool = 'terraform' ORDER BY " + order + " LIMIT 100",
		} {
			plan := planOf(t, s, statement, args)
			if !narrow.MatchString(plan) {
				t.Errorf("%s is not found by its cluster and its name together:\n%s", name, plan)
			}
		}
	})
}

// narrow matches an index's condition on both.
var narrow = regexp.MustCompile(`\(\(?cluster_id ?=.* AND \(?name ?[=>]|\(\(?name ?=.* AND \(?cluster_id ?=`)

func planOf(t *testing.T, s *Store, statement string, args []any) string {
	t.Helper()
	var plan strings.Builder
	err := s.Write(t.Context(), func(ctx context.Context) error {
		explain := "EXPLAIN QUERY PLAN "
		if s.db.Postgres() {
			// Of an empty table it would read all.
			if _, err := s.exec(ctx, "SET LOCAL enable_seqscan = off"); err != nil {
				return err
			}
			explain = "EXPLAIN "
		}
		return s.each(ctx, explain+statement, args, func(row scan) error {
			var line string
			var id, parent, unused int
			into := []any{&line}
			if !s.db.Postgres() {
				into = []any{&id, &parent, &unused, &line}
			}
			err := row(into...)
			fmt.Fprintln(&plan, line)
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan.String()
}
