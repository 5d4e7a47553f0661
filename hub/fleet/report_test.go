package fleet_test

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
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/store/storetest"
)

func statusHash(lines string) string {
	sum := sha256.Sum256([]byte(lines))
	return hex.EncodeToString(sum[:])[:16]
}

func TestReportsMakeAServiceSynced(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		c := env.AddCluster("edge-1")
		web := env.AddService("edge-1", "web")
		env.Move(web, 1)
		web = env.Get(web)
		result := env.Report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{fleettest.ReportOf(web, "", "h1")}})
		if want := statusHash(web.ID + " h1\n"); result.StatusHash != want || env.StatusHash(c.ID) != want || len(result.Resync) != 0 {
			t.Errorf("result %+v, in memory %s, want %s", result, env.StatusHash(c.ID), want)
		}
		got := env.Get(web)
		if got.Sync != fleet.Synced || got.Status.Health != fleet.Healthy || !cmp.Equal(got.Status.Components, []byte{1, 2, 3}) || got.ReportedAt == 0 {
			t.Errorf("got %s %s %v at %d", got.Sync, got.Status.Health, got.Status.Components, got.ReportedAt)
		}
		view, err := env.Cluster(t.Context(), "edge-1")
		if err != nil || view.Services != 1 || view.ServicesHealthy != 1 {
			t.Errorf("cluster %+v, %v", view, err)
		}
		env.Move(web, 2)
		if got := env.Get(web); got.Sync != fleet.Pending {
			t.Errorf("after a newer revision: %s", got.Sync)
		}
		fresh := env.Again()
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

// TestAPauseHoldsOnceTheAgentSaidSo: until then, the agent heals what a person changes by hand.
func TestAPauseHoldsOnceTheAgentSaidSo(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		c := env.AddCluster("edge-1")
		web := env.AddService("edge-1", "web")
		ref := fleet.Ref{Cluster: "edge-1", Name: "web"}
		env.Must(env.PauseService(t.Context(), "ann", ref))
		if got := env.Get(web); got.Sync != fleet.Paused || got.Reason != "" {
			t.Errorf("with nothing to deliver it is %s/%s", got.Sync, got.Reason)
		}
		env.Must(env.ResumeService(t.Context(), "ann", ref))
		env.Move(web, 1)
		web = env.Get(web)
		env.Report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{fleettest.ReportOf(web, "", "h1")}})
		env.Must(env.PauseService(t.Context(), "ann", ref))
		if got := env.Get(web); got.Sync != fleet.Paused || got.Reason != fleet.ReasonStopping {
			t.Errorf("before the agent knows it is %s/%s", got.Sync, got.Reason)
		}
		stopped := fleettest.ReportOf(web, "h1", "h2")
		stopped.Status.Sync = fleet.Paused
		env.Report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{stopped}})
		if got := env.Get(web); got.Sync != fleet.Paused || got.Reason != "" {
			t.Errorf("once the agent said so it is %s/%s", got.Sync, got.Reason)
		}
	})
}

func TestWrongBaseAsksForResync(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		c := env.AddCluster("edge-1")
		web, api := env.AddService("edge-1", "web"), env.AddService("edge-1", "api")
		env.Report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{fleettest.ReportOf(web, "", "h1"), fleettest.ReportOf(api, "", "a1")}})

		result := env.Report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{fleettest.ReportOf(web, "lost", "h3"), fleettest.ReportOf(api, "a1", "a2")}})
		if !cmp.Equal(result.Resync, []string{web.ID}) {
			t.Errorf("resync %v, want %s", result.Resync, web.ID)
		}
		again := env.Report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{fleettest.ReportOf(api, "a1", "a2")}})
		if len(again.Resync) != 0 || again.StatusHash != result.StatusHash {
			t.Errorf("a report whose answer was lost: %+v", again)
		}
		env.Report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{fleettest.ReportOf(web, "", "h3")}})
		env.Report(fleet.ReportBatch{ClusterID: c.ID, Whole: true, Reports: []fleet.Report{fleettest.ReportOf(web, "h3", "h3")}})
		if want := statusHash(web.ID + " h3\n"); env.StatusHash(c.ID) != want {
			t.Errorf("a whole report left %s, want only %s", env.StatusHash(c.ID), want)
		}
		if got := env.Get(api); got.Status.Sync != "" {
			t.Errorf("what a whole report does not list is still %s", got.Status.Sync)
		}
	})
}

func TestAnAgentCannotReportForOthers(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		evil := env.AddCluster("edge-2")
		web := env.AddService("edge-1", "web")
		env.Report(fleet.ReportBatch{ClusterID: evil.ID, Reports: []fleet.Report{fleettest.ReportOf(web, "", "h1")}})
		if got := env.Get(web); got.Status.Sync != "" {
			t.Errorf("another cluster's agent made it %s", got.Status.Sync)
		}
		specs, missing, err := env.AgentSpecs(t.Context(), evil.ID, []string{web.ID})
		if err != nil || len(specs) != 0 || !cmp.Equal(missing, []string{web.ID}) {
			t.Errorf("specs %v, missing %v, %v", specs, missing, err)
		}
	})
}

func TestIdleReportsAppendNothing(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		c := env.AddCluster("edge-1")
		web := env.AddService("edge-1", "web")
		b := fleet.ReportBatch{ClusterID: c.ID, Whole: true, Reports: []fleet.Report{fleettest.ReportOf(web, "", "h1")}}
		env.Report(b)
		before, err := env.Store.LastSequence(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		env.Report(b)
		after, err := env.Store.LastSequence(t.Context())
		if err != nil || after != before {
			t.Errorf("the feed went from %d to %d, %v", before, after, err)
		}
		rows, err := env.Store.ChangesAfter(t.Context(), before-1, 10)
		want := []event.Row{
			{Change: event.Change{Kind: event.KindReport, Key: c.ID, Cluster: c.ID}, Sequence: before},
			{Change: event.Change{Kind: event.KindStatus, Key: web.ID, Cluster: c.ID}, Sequence: before},
		}
		if diff := cmp.Diff(want, rows, cmpopts.IgnoreFields(event.Row{}, "At")); err != nil || diff != "" {
			t.Errorf("%v, rows (-want +got):\n%s", err, diff)
		}
	})
}

func TestFreshnessIsTheAgeOfThePoll(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		c := env.AddCluster("edge-1")
		web := env.AddService("edge-1", "web")
		env.Move(web, 1)
		env.Report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{fleettest.ReportOf(env.Get(web), "", "h1")}})
		if err := env.Ping(t.Context(), c.ID, fleet.ClusterPing{PollInterval: (10 * time.Second).Microseconds()}); err != nil {
			t.Fatal(err)
		}
		want := func(when string, freshness fleet.Freshness, healthy int) {
			t.Helper()
			view, err := env.Cluster(t.Context(), "edge-1")
			if err != nil || view.Freshness != freshness || view.ServicesHealthy != healthy || env.Get(web).Freshness != freshness {
				t.Errorf("%s: cluster %s, %d healthy, service %s, %v", when, view.Freshness, view.ServicesHealthy, env.Get(web).Freshness, err)
			}
		}
		want("at the start", fleet.Unknown, 1)
		env.Seen(c.ID, env.Clock.Now())
		env.Clock.Advance(30 * time.Second)
		want("after three intervals", fleet.Fresh, 1)
		env.Clock.Advance(time.Second)
		want("later", fleet.Stale, 0)
		env.Fleet = env.Again()
		want("after a restart", fleet.Unknown, 1)
		env.Clock.Advance(11 * time.Second)
		want("one interval after a restart", fleet.Stale, 0)
		env.Seen(c.ID, env.Clock.Now())
		want("polled again", fleet.Fresh, 1)
	})
}

// storedHash is the hash over what is in the database, read row by row.
func storedHash(env *fleettest.Fleet, clusterID string) string {
	env.T.Helper()
	hashes, err := env.Store.StatusHashes(env.T.Context(), clusterID)
	if err != nil {
		env.T.Fatal(err)
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

// Clusters that were silent since the hub started are stale to all who count.
func TestSilentClustersAreCountedStale(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		c := env.AddCluster("edge-1")
		env.AddCluster("edge-2")
		f := env.Again()
		if err := f.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		env.Clock.Advance(time.Hour)
		f.Seen(c.ID, env.Clock.Now())
		if diff := cmp.Diff(map[fleet.Freshness]int{fleet.Fresh: 1, fleet.Stale: 1}, f.ClusterCounts()); diff != "" {
			t.Errorf("clusters (-want +got):\n%s", diff)
		}
	})
}

// An agent's reports go to whichever replica it reaches, and what one replica
// caches for a large cluster never replaces what another stored.
func TestStatusHashIsThatOfTheDatabase(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		c := env.AddCluster("edge-1")
		web := env.AddService("edge-1", "web")
		var all []fleet.Report
		for n := range 200 {
			r := fleettest.ReportOf(web, "", fmt.Sprint("first ", n))
			r.ServiceID = fmt.Sprintf("svc-%03d", n)
			all = append(all, r)
		}
		replicas := []*fleet.Fleet{env.Fleet, env.Again()}
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
			env.Fleet = replicas[i%3%2]
			result := env.Report(b)
			if want := storedHash(env, c.ID); result.StatusHash != want || env.StatusHash(c.ID) != want {
				t.Fatalf("step %d, %s: the answer is %s and polls get %s, the database has %s", i, name, result.StatusHash, env.StatusHash(c.ID), want)
			}
		}
		// What is undone was never there.
		env.Fleet = replicas[0]
		undone := errors.New("undone")
		err := env.Store.Write(t.Context(), func(ctx context.Context) error {
			b := steps["one"]
			b.ClusterID, b.Reports = c.ID, []fleet.Report{{ServiceID: "svc-100", NewHash: "of a transaction that is undone"}}
			if _, err := env.StoreReports(ctx, b); err != nil {
				t.Fatal(err)
			}
			return undone
		})
		if !errors.Is(err, undone) {
			t.Fatal(err)
		}
		if got := env.Report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{{ServiceID: "svc-101", NewHash: "next"}}}); got.StatusHash != storedHash(env, c.ID) {
			t.Errorf("after one was undone the answer is %s, the database has %s", got.StatusHash, storedHash(env, c.ID))
		}
	})
}

// Settings of the hub that change nothing for a service make no event: the
// agent reports what it got, and people see nothing of it.
func TestSettingsThatChangeNothingAreNoEvent(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		c := env.AddCluster("edge-1")
		web := env.AddService("edge-1", "web")
		env.Move(web, 1)
		first := fleettest.ReportOf(env.Get(web), "", "h1")
		env.Report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{first}})
		events := func() int {
			t.Helper()
			return len(env.Events(web.ID))
		}
		before := events()
		settings := first
		settings.NewHash, settings.Status.SpecDigest = "h2", "s1:other"
		env.Report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{settings}})
		if n := events() - before; n != 0 {
			t.Errorf("%d events of settings that changed nothing", n)
		}
		written := settings
		written.NewHash, written.Status.SpecDigest, written.Status.AppliedAt = "h3", "s1:third", 77
		env.Report(fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{written}})
		if n := events() - before; n != 1 {
			t.Errorf("%d events of settings that wrote an object, want one", n)
		}
	})
}
