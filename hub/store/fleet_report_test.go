package store_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/reported"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/store/storetest"
)

func report(v fleet.ServiceView, base, hash string) fleet.Report {
	return fleet.Report{ServiceID: v.ID, BaseHash: base, NewHash: hash, Status: fleet.Status{
		Sync: fleet.Synced, Health: fleet.Healthy, TarballDigest: v.Desired.Digest, SpecDigest: v.SpecDigest,
		Revision: v.Revision, SourceRevision: v.Desired.SourceRevision, Components: []byte{1, 2, 3},
		Counts: fleet.Counts{Total: 1, Healthy: 1},
	}}
}

// report stores reports and applies the feed's rows, as a hub's feed does.
func (y *yard) report(b fleet.ReportBatch) fleet.ReportResult {
	y.t.Helper()
	r, err := y.StoreReports(y.t.Context(), b)
	if err != nil {
		y.t.Fatal(err)
	}
	rows, err := y.store.ChangesAfter(y.t.Context(), 0, 10000)
	if err != nil {
		y.t.Fatal(err)
	}
	if err := y.Apply(y.t.Context(), rows); err != nil {
		y.t.Fatal(err)
	}
	return r
}

func statusHash(lines string) string {
	sum := sha256.Sum256([]byte(lines))
	return hex.EncodeToString(sum[:])[:16]
}

func TestReportsMakeAServiceSynced(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		c := y.cluster("edge-1")
		web := y.service("edge-1", "web")
		y.move(web, 1)
		web = y.get(web)
		result := y.report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{report(web, "", "h1")}})
		if want := statusHash(web.ID + " h1\n"); result.StatusHash != want || y.StatusHash(c.ID) != want || len(result.Resync) != 0 {
			t.Errorf("result %+v, in memory %s, want %s", result, y.StatusHash(c.ID), want)
		}
		got := y.get(web)
		if got.Sync != fleet.Synced || got.Status.Health != fleet.Healthy || !cmp.Equal(got.Status.Components, []byte{1, 2, 3}) || got.ReportedAt == 0 {
			t.Errorf("got %s %s %v at %d", got.Sync, got.Status.Health, got.Status.Components, got.ReportedAt)
		}
		view, err := y.Cluster(t.Context(), "edge-1")
		if err != nil || view.Services != 1 || view.ServicesHealthy != 1 {
			t.Errorf("cluster %+v, %v", view, err)
		}
		y.move(web, 2)
		if got := y.get(web); got.Sync != fleet.Pending {
			t.Errorf("after a newer revision: %s", got.Sync)
		}
		fresh := y.newFleet()
		if err := fresh.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		if fresh.StatusHash(c.ID) != result.StatusHash {
			t.Error("another replica has another status hash")
		}
		if got := fresh.StatusHash("cl_without"); got != "" {
			t.Errorf("a cluster without statuses has the hash %q", got)
		}
	})
}

func TestWrongBaseAsksForResync(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		c := y.cluster("edge-1")
		web, api := y.service("edge-1", "web"), y.service("edge-1", "api")
		y.report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{report(web, "", "h1"), report(api, "", "a1")}})

		result := y.report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{report(web, "lost", "h3"), report(api, "a1", "a2")}})
		if !cmp.Equal(result.Resync, []string{web.ID}) {
			t.Errorf("resync %v, want %s", result.Resync, web.ID)
		}
		again := y.report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{report(api, "a1", "a2")}})
		if len(again.Resync) != 0 || again.StatusHash != result.StatusHash {
			t.Errorf("a report whose answer was lost: %+v", again)
		}
		y.report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{report(web, "", "h3")}})
		y.report(fleet.ReportBatch{ClusterID: c.ID, Whole: true, Reports: []fleet.Report{report(web, "h3", "h3")}})
		if want := statusHash(web.ID + " h3\n"); y.StatusHash(c.ID) != want {
			t.Errorf("a whole report left %s, want only %s", y.StatusHash(c.ID), want)
		}
		if got := y.get(api); got.Status.Sync != "" {
			t.Errorf("what a whole report does not list is still %s", got.Status.Sync)
		}
	})
}

func TestAnAgentCannotReportForOthers(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		y.cluster("edge-1")
		evil := y.cluster("edge-2")
		web := y.service("edge-1", "web")
		y.report(fleet.ReportBatch{ClusterID: evil.ID, Reports: []fleet.Report{report(web, "", "h1")}})
		if got := y.get(web); got.Status.Sync != "" {
			t.Errorf("another cluster's agent made it %s", got.Status.Sync)
		}
		specs, missing, err := y.AgentSpecs(t.Context(), evil.ID, []string{web.ID})
		if err != nil || len(specs) != 0 || !cmp.Equal(missing, []string{web.ID}) {
			t.Errorf("specs %v, missing %v, %v", specs, missing, err)
		}
	})
}

func TestIdleReportsAppendNothing(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		c := y.cluster("edge-1")
		web := y.service("edge-1", "web")
		b := fleet.ReportBatch{ClusterID: c.ID, Whole: true, Reports: []fleet.Report{report(web, "", "h1")}}
		y.report(b)
		before, err := y.store.LastSequence(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		y.report(b)
		after, err := y.store.LastSequence(t.Context())
		if err != nil || after != before {
			t.Errorf("the feed went from %d to %d, %v", before, after, err)
		}
		rows, err := y.store.ChangesAfter(t.Context(), before-1, 10)
		want := []event.Row{
			{Change: event.Change{Kind: event.KindReport, Key: c.ID, Cluster: c.ID}, Sequence: before},
			{Change: event.Change{Kind: event.KindStatus, Key: web.ID, Cluster: c.ID}, Sequence: before},
		}
		if diff := cmp.Diff(want, undated(rows)); err != nil || diff != "" {
			t.Errorf("%v, rows (-want +got):\n%s", err, diff)
		}
	})
}

func TestFreshnessIsTheAgeOfThePoll(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		c := y.cluster("edge-1")
		web := y.service("edge-1", "web")
		y.move(web, 1)
		y.report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{report(y.get(web), "", "h1")}})
		if err := y.Ping(t.Context(), c.ID, fleet.ClusterPing{PollInterval: (10 * time.Second).Microseconds()}); err != nil {
			t.Fatal(err)
		}
		want := func(when string, freshness fleet.Freshness, healthy int) {
			t.Helper()
			view, err := y.Cluster(t.Context(), "edge-1")
			if err != nil || view.Freshness != freshness || view.ServicesHealthy != healthy || y.get(web).Freshness != freshness {
				t.Errorf("%s: cluster %s, %d healthy, service %s, %v", when, view.Freshness, view.ServicesHealthy, y.get(web).Freshness, err)
			}
		}
		want("at the start", fleet.Unknown, 1)
		y.Seen(c.ID, y.clock.Now())
		y.clock.Advance(30 * time.Second)
		want("after three intervals", fleet.Fresh, 1)
		y.clock.Advance(time.Second)
		want("later", fleet.Stale, 0)
		y.Fleet = y.newFleet()
		want("after a restart", fleet.Unknown, 1)
		y.clock.Advance(11 * time.Second)
		want("one interval after a restart", fleet.Stale, 0)
		y.Seen(c.ID, y.clock.Now())
		want("polled again", fleet.Fresh, 1)
	})
}

// storedHash is the hash over what is in the database, read row by row.
func (y *yard) storedHash(clusterID string) string {
	y.t.Helper()
	hashes, err := y.store.StatusHashes(y.t.Context(), clusterID)
	if err != nil {
		y.t.Fatal(err)
	}
	var lines strings.Builder
	for _, id := range slices.Sorted(maps.Keys(hashes)) {
		lines.WriteString(id + " " + hashes[id].Hash + "\n")
	}
	if lines.Len() == 0 {
		return ""
	}
	return statusHash(lines.String())
}

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
		y := newYard(t, d)
		one, two := y.cluster("edge-1"), y.cluster("edge-2")
		var all []fleet.Report
		for n := range 100 {
			is := fleet.Status{Sync: []fleet.Sync{fleet.Synced, fleet.Failed, fleet.Drifted}[n%3], Health: []fleet.Health{fleet.Healthy, fleet.Degraded}[n%2]}
			all = append(all, fleet.Report{ServiceID: fmt.Sprintf("svc-%03d", n), NewHash: fmt.Sprint("first ", n), Status: is})
		}
		here, there := y.Fleet, y.newFleet()
		look := func(what string, clusters map[fleet.Freshness]int) {
			t.Helper()
			rows, err := y.store.ChangesAfter(t.Context(), 0, 10000)
			if err != nil {
				t.Fatal(err)
			}
			late := y.newFleet()
			if err := errors.Join(here.Apply(t.Context(), rows), there.Apply(t.Context(), rows), late.Rebuild(t.Context())); err != nil {
				t.Fatal(err)
			}
			asked := 0
			y.store.Trace(func(string, []any) { asked++ })
			defer y.store.Trace(nil)
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

// Clusters that were silent since the hub started are stale to all who count.
func TestSilentClustersAreCountedStale(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		c := y.cluster("edge-1")
		y.cluster("edge-2")
		f := y.newFleet()
		if err := f.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		y.clock.Advance(time.Hour)
		f.Seen(c.ID, y.clock.Now())
		if diff := cmp.Diff(map[fleet.Freshness]int{fleet.Fresh: 1, fleet.Stale: 1}, f.ClusterCounts()); diff != "" {
			t.Errorf("clusters (-want +got):\n%s", diff)
		}
	})
}

// An agent's reports go to whichever replica it reaches, and what one replica
// caches for a large cluster never replaces what another stored.
func TestStatusHashIsThatOfTheDatabase(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		c := y.cluster("edge-1")
		web := y.service("edge-1", "web")
		var all []fleet.Report
		for n := range 200 {
			r := report(web, "", fmt.Sprint("first ", n))
			r.ServiceID = fmt.Sprintf("svc-%03d", n)
			all = append(all, r)
		}
		replicas := []*fleet.Fleet{y.Fleet, y.newFleet()}
		steps := map[string]fleet.ReportBatch{
			"all": {Whole: true, Reports: all},
			"one": {Reports: []fleet.Report{{ServiceID: "svc-007", BaseHash: "first 7", NewHash: "second 7", Status: fleet.Status{Sync: fleet.Failed}}}},
			// Refused, and cached nowhere.
			"wrong base": {Reports: []fleet.Report{{ServiceID: "svc-008", BaseHash: "never", NewHash: "second 8"}}},
			"new":        {Reports: []fleet.Report{{ServiceID: "svc-new", NewHash: "first"}}},
			"twice":      {Reports: []fleet.Report{{ServiceID: "svc-009", NewHash: "a"}, {ServiceID: "svc-009", BaseHash: "a", NewHash: "b"}}},
			"fewer":      {Whole: true, Reports: all[:150]},
		}
		for i, name := range []string{"all", "one", "one", "wrong base", "new", "twice", "all", "one", "fewer", "new", "one", "all"} {
			b := steps[name]
			b.ClusterID = c.ID
			y.Fleet = replicas[i%3%2]
			result := y.report(b)
			if want := y.storedHash(c.ID); result.StatusHash != want || y.StatusHash(c.ID) != want {
				t.Fatalf("step %d, %s: the answer is %s and polls get %s, the database has %s", i, name, result.StatusHash, y.StatusHash(c.ID), want)
			}
		}
		// What is undone was never there.
		y.Fleet = replicas[0]
		undone := errors.New("undone")
		err := y.store.Write(t.Context(), func(ctx context.Context) error {
			b := steps["one"]
			b.ClusterID, b.Reports = c.ID, []fleet.Report{{ServiceID: "svc-100", NewHash: "of a transaction that is undone"}}
			if _, err := y.StoreReports(ctx, b); err != nil {
				t.Fatal(err)
			}
			return undone
		})
		if !errors.Is(err, undone) {
			t.Fatal(err)
		}
		if got := y.report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{{ServiceID: "svc-101", NewHash: "next"}}}); got.StatusHash != y.storedHash(c.ID) {
			t.Errorf("after one was undone the answer is %s, the database has %s", got.StatusHash, y.storedHash(c.ID))
		}
	})
}

// Settings of the hub that change nothing for a service make no event: the
// agent reports what it got, and people see nothing of it.
func TestSettingsThatChangeNothingAreNoEvent(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		c := y.cluster("edge-1")
		web := y.service("edge-1", "web")
		y.move(web, 1)
		first := report(y.get(web), "", "h1")
		y.report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{first}})
		events := func() int {
			t.Helper()
			all, err := y.store.Events(t.Context(), store.EventFilter{Service: web.ID})
			if err != nil {
				t.Fatal(err)
			}
			return len(all)
		}
		before := events()
		settings := first
		settings.NewHash, settings.Status.SpecDigest = "h2", "s1:other"
		y.report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{settings}})
		if n := events() - before; n != 0 {
			t.Errorf("%d events of settings that changed nothing", n)
		}
		written := settings
		written.NewHash, written.Status.SpecDigest, written.Status.AppliedAt = "h3", "s1:third", 77
		y.report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{written}})
		if n := events() - before; n != 1 {
			t.Errorf("%d events of settings that wrote an object, want one", n)
		}
	})
}
