package store

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
)

// TestWhatWasLearntIsFoundByIndexes checks the queries that each report and
// each fetch runs after a restore: none may read the whole fleet.
func TestWhatWasLearntIsFoundByIndexes(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		s := open(t)
		for name, query := range map[string]struct {
			statement string
			args      []any
		}{
			"following": {followingQuery, []any{"x"}},
			"former":    {formerQuery + formerOfOne, []any{"x"}},
			"reported":  {reportedQuery + "($1)", []any{"x"}},
			"declared":  {strings.Replace(declaredQuery, "%", "$1", 1) + "2", []any{"x", 1}},
			"fetched":   {strings.Replace(fetchedQuery, "%", "$1", 1) + "2", []any{"x", 1}},
		} {
			plan := planOf(t, s, query.statement, query.args)
			for _, line := range strings.Split(plan, "\n") {
				if strings.Contains(line, "Seq Scan") || strings.Contains(line, "SCAN ") && !strings.Contains(line, "INDEX") {
					t.Errorf("%s reads a whole table:\n%s", name, plan)
				}
			}
		}
	})
}

// TestEndedRegistrationsAreToldToTheirCluster checks that a cluster gets
// exactly the ended registrations with its uid.
func TestEndedRegistrationsAreToldToTheirCluster(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		s := open(t)
		write := func(do func(ctx context.Context) error) {
			t.Helper()
			if err := s.Write(t.Context(), do); err != nil {
				t.Fatal(err)
			}
		}
		insert := func(id, uid string) {
			t.Helper()
			write(func(ctx context.Context) error {
				return s.InsertCluster(ctx, fleet.Cluster{ID: id, Name: id, Handle: id, ProjectID: "prj_default", ClusterUID: uid, CreatedAt: 1, UpdatedAt: 1})
			})
		}
		insert("old", "uid-1")
		insert("live", "uid-1")
		insert("elsewhere", "uid-2")
		want := func(expected map[string][]string) {
			t.Helper()
			got, err := Learnt{s}.Former(t.Context(), "")
			if diff := cmp.Diff(expected, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		}
		want(map[string][]string{})
		write(func(ctx context.Context) error { return s.DeleteCluster(ctx, "old") })
		want(map[string][]string{"live": {"old"}})
		// A restore of before that brings it back to life.
		insert("old", "uid-1")
		want(map[string][]string{})
	})
}

// TestFailOverConfirmsNoRestore checks that a fail-over between a restore and a
// person's confirmation does not count as the confirmation.
func TestFailOverConfirmsNoRestore(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		s, ctx := open(t), t.Context()
		first, err := s.Incarnation(ctx)
		if err != nil {
			t.Fatal(err)
		}
		restored, err := s.BeginIncarnation(ctx, first.ID, "", false)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Repair(ctx, event.Position{Incarnation: restored.ID, Sequence: 99}, ""); err != nil {
			t.Fatal(err)
		}
		if now, err := s.Incarnation(ctx); err != nil || now.ParentID != restored.ID || now.Confirmed {
			t.Errorf("%+v, %v", now, err)
		}
	})
}
