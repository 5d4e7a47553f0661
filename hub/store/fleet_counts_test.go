package store_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/fleet/reported"
	"github.com/axle-cd/axle/hub/store/storetest"
)

// storedCounts counts what is in the database, of clusters that are there.
func storedCounts(t *testing.T, d storetest.Database) map[reported.State]int {
	t.Helper()
	db := d.SQL(t)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), "SELECT sync, health, count(*) FROM statuses GROUP BY sync, health")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	counts := map[reported.State]int{}
	for rows.Next() {
		var is reported.State
		var n int
		if err := rows.Scan(&is.Sync, &is.Health, &n); err != nil {
			t.Fatal(err)
		}
		counts[is] = n
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return counts
}

// The numbers for alerts equal those of the database, on every replica,
// whichever of them received a report, and without a query.
func TestFleetCountsAreThoseOfTheDatabase(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		one, two := env.AddCluster("edge-1"), env.AddCluster("edge-2")
		var all []fleet.Report
		for n := range 100 {
			is := fleet.Status{Sync: []fleet.Sync{fleet.Synced, fleet.Failed, fleet.Drifted}[n%3], Health: []fleet.Health{fleet.Healthy, fleet.Degraded}[n%2]}
			all = append(all, fleet.Report{ServiceID: fmt.Sprintf("svc-%03d", n), NewHash: fmt.Sprint("first ", n), Status: is})
		}
		here, there := env.Fleet, env.Again()
		look := func(what string, clusters map[fleet.Freshness]int) {
			t.Helper()
			rows, err := env.Store.ChangesAfter(t.Context(), 0, 10000)
			if err != nil {
				t.Fatal(err)
			}
			late := env.Again()
			if err := errors.Join(here.Apply(t.Context(), rows), there.Apply(t.Context(), rows), late.Rebuild(t.Context())); err != nil {
				t.Fatal(err)
			}
			asked := 0
			env.Store.Trace(func(string, []any) { asked++ })
			defer env.Store.Trace(nil)
			for name, f := range map[string]*fleet.Fleet{"here": here, "there": there, "late": late} {
				got, fresh := f.ServiceCounts(), f.ClusterCounts()
				if asked > 0 {
					t.Errorf("%s, %s: %d statements for a count", what, name, asked)
				}
				if diff := cmp.Diff(storedCounts(t, d), got); diff != "" {
					t.Errorf("%s, %s (-stored +counted):\n%s", what, name, diff)
				}
				if diff := cmp.Diff(clusters, fresh); diff != "" {
					t.Errorf("%s, %s: clusters (-want +got):\n%s", what, name, diff)
				}
			}
		}
		report := func(f *fleet.Fleet, b fleet.ReportBatch) {
			t.Helper()
			if _, err := f.StoreReports(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		look("nobody reported", map[fleet.Freshness]int{fleet.Unknown: 2})
		report(here, fleet.ReportBatch{ClusterID: one.ID, Whole: true, Reports: all[:70]})
		report(there, fleet.ReportBatch{ClusterID: two.ID, Whole: true, Reports: all[70:]})
		look("two clusters", map[fleet.Freshness]int{fleet.Unknown: 2})
		report(there, fleet.ReportBatch{ClusterID: one.ID, Reports: []fleet.Report{{ServiceID: "svc-001", NewHash: "second", Status: fleet.Status{Sync: fleet.Held, Health: fleet.Healthy}}}})
		report(here, fleet.ReportBatch{ClusterID: two.ID, Whole: true, Reports: all[90:]})
		look("changed and fewer", map[fleet.Freshness]int{fleet.Unknown: 2})
		if err := there.DeleteCluster(t.Context(), "ann", "edge-2", false); err != nil {
			t.Fatal(err)
		}
		look("one is gone", map[fleet.Freshness]int{fleet.Unknown: 1})
	})
}
