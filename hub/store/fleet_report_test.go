package store_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
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
	onBoth(t, func(t *testing.T, p place) {
		y := newYard(t, p)
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
	onBoth(t, func(t *testing.T, p place) {
		y := newYard(t, p)
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
	onBoth(t, func(t *testing.T, p place) {
		y := newYard(t, p)
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
	onBoth(t, func(t *testing.T, p place) {
		y := newYard(t, p)
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
		want := []event.Row{{Change: event.Change{Kind: event.KindReport, Key: c.ID, Cluster: c.ID}, Sequence: before}}
		if diff := cmp.Diff(want, undated(rows)); err != nil || diff != "" {
			t.Errorf("%v, rows (-want +got):\n%s", err, diff)
		}
	})
}

func TestFreshnessIsTheAgeOfThePoll(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		y := newYard(t, p)
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
