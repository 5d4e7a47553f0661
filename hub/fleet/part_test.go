package fleet_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/digest"
)

func TestServiceOfSeveralSources(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		c := env.AddCluster("edge-1")
		shop := env.AddSeveral(fleettest.ChartSource)
		if shop.Revision != 0 || shop.Desired.Digest != "" || len(shop.NotActing) != 0 {
			t.Errorf("before its last source was produced: revision %d of %q; not acting %v", shop.Revision, shop.Desired.Digest, shop.NotActing)
		}
		env.MoveTo(fleettest.ChartSource, 3)
		first := env.Get(shop)
		if diff := cmp.Diff([]string{"=1", "rules=2", ".helm-chart=3"}, fleettest.PartNames(first.Parts)); diff != "" || first.Revision != 1 {
			t.Fatalf("revision %d (-want +got):\n%s", first.Revision, diff)
		}
		env.MoveTo(fleettest.RulesSource, 4)
		second := env.Get(shop)
		if diff := cmp.Diff([]string{"=1", "rules=4", ".helm-chart=3"}, fleettest.PartNames(second.Parts)); diff != "" || second.Revision != 2 {
			t.Errorf("revision %d (-want +got):\n%s", second.Revision, diff)
		}
		if second.SpecDigest == first.SpecDigest || second.Desired.Digest != fleettest.ContentName(1) {
			t.Error("the spec digest must follow the parts, the digest the first of them")
		}
		// Several at once make one revision, and a late call none.
		env.Upstream.Commit(fleettest.AppSource, 5)
		env.Upstream.Commit(fleettest.ChartSource, 6)
		env.Tell(fleettest.ChartSource)
		env.Tell(fleettest.AppSource)
		if err := env.FollowHeads(t.Context()); err != nil {
			t.Fatal(err)
		}
		third := env.Get(shop)
		if diff := cmp.Diff([]string{"=5", "rules=4", ".helm-chart=6"}, fleettest.PartNames(third.Parts)); diff != "" || third.Revision != 3 {
			t.Errorf("revision %d (-want +got):\n%s", third.Revision, diff)
		}
		rows, err := env.LoadRows(t.Context(), []string{shop.ID})
		if err != nil || len(rows) != 1 || rows[0].Digest != fleettest.ContentName(5) || !slices.Equal(fleettest.PartNames(rows[0].Parts), fleettest.PartNames(third.Parts)) {
			t.Errorf("the list is made of %+v, %v", rows, err)
		}
		specs, _, err := env.AgentSpecs(t.Context(), c.ID, []string{shop.ID})
		if err != nil || len(specs) != 1 || !fleet.HasChartPart(specs[0].Service.Parts) {
			t.Errorf("the agent gets %+v, %v", specs, err)
		}
	})
}

func TestServiceStaysWholeWhileASourceFails(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		shop := env.AddSeveral()
		env.Upstream.Fail(fleettest.RulesSource, "the folder base does not exist")
		env.MoveTo(fleettest.AppSource, 7)
		held := env.Get(shop)
		if diff := cmp.Diff([]string{"=1", "rules=2", ".helm-chart=3"}, fleettest.PartNames(held.Parts)); diff != "" || held.Revision != 1 {
			t.Errorf("revision %d (-want +got):\n%s", held.Revision, diff)
		}
		if held.Reason != fleet.ReasonSourceError || held.SourceError != "sources[0] (policy): the folder base does not exist" || held.Sources[1].Error == "" || held.Sources[0].Error != "" {
			t.Errorf("said %q: %q", held.Reason, held.SourceError)
		}
		// A change of settings goes out, with the files that run.
		changed := fleettest.SeveralSpec()
		changed.Configuration = map[string]string{"colour": "red"}
		updated := env.Must(env.UpdateService(t.Context(), "ann", shop.Ref(), changed, nil, false))
		if updated.Revision != 2 || updated.Desired.Digest != fleettest.ContentName(1) {
			t.Errorf("settings made revision %d with %s", updated.Revision, updated.Desired.Digest)
		}
		env.MoveTo(fleettest.RulesSource, 2) // well again, and as it was
		if now := env.Get(shop); now.Revision != 3 || !slices.Equal(fleettest.PartNames(now.Parts), []string{"=7", "rules=2", ".helm-chart=3"}) || now.SourceError != "" {
			t.Errorf("afterwards revision %d of %v: %q", now.Revision, fleettest.PartNames(now.Parts), now.SourceError)
		}
	})
}

func TestRollbackTakesAllPartsBack(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		shop := env.AddSeveral()
		first := env.Get(shop)
		env.MoveTo(fleettest.RulesSource, 8)
		env.MoveTo(fleettest.ChartSource, 9)
		back := env.Must(env.RollbackService(t.Context(), "ann", shop.Ref(), 1))
		if diff := cmp.Diff(fleettest.PartNames(first.Parts), fleettest.PartNames(back.Parts)); diff != "" || back.PinnedRevision != 1 {
			t.Errorf("pinned to %d (-want +got):\n%s", back.PinnedRevision, diff)
		}
		env.MoveTo(fleettest.AppSource, 10)
		if now := env.Get(shop); now.Desired.Digest != fleettest.ContentName(1) {
			t.Errorf("a commit moved a pinned service to %s", now.Desired.Digest)
		}
		resumed := env.Must(env.ResumeService(t.Context(), "ann", shop.Ref()))
		if diff := cmp.Diff([]string{"=10", "rules=8", ".helm-chart=9"}, fleettest.PartNames(resumed.Parts)); diff != "" {
			t.Errorf("resumed (-want +got):\n%s", diff)
		}
		// Remove one source, then all but one.
		env.Must(env.UpdateService(t.Context(), "ann", shop.Ref(), fleettest.Spec("shop"), nil, false))
		if now := env.Get(shop); now.Parts != nil || now.Places != nil || now.Desired.Digest != fleettest.ContentName(10) {
			t.Errorf("of one source: %v, %v", fleettest.PartNames(now.Parts), now.Places)
		}
		env.MoveTo(fleettest.RulesSource, 11)
		if now := env.Get(shop); now.Parts != nil {
			t.Errorf("a source that was left still moves it: %v", fleettest.PartNames(now.Parts))
		}
		revisions, err := env.Revisions(t.Context(), shop.Ref())
		if err != nil || len(revisions[len(revisions)-1].Parts) != 3 {
			t.Errorf("revisions = %+v, %v", revisions, err)
		}
	})
}

func TestPartsOfKeptRevisionsStayPinned(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		env.AddSeveral()
		for n := range 25 {
			env.MoveTo(fleettest.RulesSource, 100+n)
		}
		var all []digest.Digest
		for _, n := range numbers(1, 130) {
			all = append(all, digest.Digest(fleettest.ContentName(n)))
		}
		pinned, err := env.Store.Pinned(t.Context(), all)
		if err != nil {
			t.Fatal(err)
		}
		var want []digest.Digest
		for _, n := range append([]int{1, 3}, numbers(105, 124)...) {
			want = append(want, digest.Digest(fleettest.ContentName(n)))
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, pinned); diff != "" {
			t.Errorf("pinned (-want +got):\n%s", diff)
		}
		env.Must(env.DeleteService(t.Context(), "ann", fleet.Ref{Cluster: "edge-1", Name: "shop"}, false))
		if err := env.DeleteCluster(t.Context(), "ann", "edge-1", true); err != nil {
			t.Fatal(err)
		}
		if pinned, err = env.Store.Pinned(t.Context(), all); err != nil || len(pinned) != 0 {
			t.Errorf("a service that is gone pins %v, %v", pinned, err)
		}
	})
}

func numbers(from, to int) []int {
	var all []int
	for n := from; n <= to; n++ {
		all = append(all, n)
	}
	return all
}

// A source that is added waits until it was produced; what runs stays whole.
func TestAddedSourceIsWaitedFor(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		env.Upstream.Commit(fleettest.AppSource, 1)
		env.Upstream.Commit(fleettest.RulesSource, 2)
		shop := env.Must(env.CreateService(t.Context(), "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: "shop"}, Spec: fleettest.Spec("shop")}))
		env.Must(env.UpdateService(t.Context(), "ann", shop.Ref(), fleettest.SeveralSpec(), nil, false))
		env.MoveTo(fleettest.AppSource, 5)
		if now := env.Get(shop); now.Revision != 1 || now.Parts != nil || now.Desired.Digest != fleettest.ContentName(1) || !strings.HasPrefix(now.Message, "helm (https://charts.test): ") {
			t.Errorf("revision %d of %s, %q; want what ran before", now.Revision, now.Desired.Digest, now.Message)
		}
		env.MoveTo(fleettest.ChartSource, 3)
		now := env.Get(shop)
		if diff := cmp.Diff([]string{"=5", "rules=2", ".helm-chart=3"}, fleettest.PartNames(now.Parts)); diff != "" || now.Revision != 2 || now.Undelivered {
			t.Errorf("revision %d (-want +got):\n%s", now.Revision, diff)
		}
	})
}

// A row from before services had parts continues with its one source, and
// reports that the others were not followed.
func TestRowsFromBeforeParts(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		shop := env.AddSeveral()
		for _, statement := range []string{
			"UPDATE services SET places = ''", "UPDATE contents SET parts = ''", "DELETE FROM service_sources", "DELETE FROM content_parts",
		} {
			if _, err := d.SQL(t).ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		env.MoveTo(fleettest.AppSource, 12)
		old := env.Get(shop)
		if old.Revision != 2 || old.Parts != nil || old.Desired.Digest != fleettest.ContentName(12) || len(old.NotActing) != 2 || !strings.HasPrefix(old.NotActing[0], "sources[0] ") {
			t.Errorf("revision %d of %s with %v; not acting %q", old.Revision, old.Desired.Digest, fleettest.PartNames(old.Parts), old.NotActing)
		}
		again, outcome, err := env.ApplyService(t.Context(), "ann", fleet.ServiceRequest{Ref: shop.Ref(), Spec: fleettest.SeveralSpec()})
		if err != nil || outcome != fleet.Updated || len(again.Parts) != 3 || len(again.NotActing) != 0 {
			t.Errorf("applied again: %s, %v, %v, %v", outcome, fleettest.PartNames(again.Parts), again.NotActing, err)
		}
	})
}

func TestFailingRepositoryIsANote(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		c := env.AddCluster("edge-1")
		shop := env.AddSeveral()
		report := func(sync fleet.Sync, reason string) {
			t.Helper()
			now := env.Get(shop)
			_, err := env.StoreReports(t.Context(), fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{{ServiceID: shop.ID, NewHash: string(sync) + reason, Status: fleet.Status{
				Sync: sync, Reason: reason, Health: fleet.Healthy, TarballDigest: now.Desired.Digest, SpecDigest: now.SpecDigest,
			}}}})
			if err != nil {
				t.Fatal(err)
			}
		}
		report(fleet.Synced, "")
		env.Upstream.Failing = map[string]fleet.Upstream{"repo_policy": {Name: "policy", Kind: "git", FailingSince: clock.Micros(env.Clock.Now().Add(-12 * time.Minute)), Message: "connection refused"}}
		got := env.Get(shop)
		if got.Sync != fleet.Synced || got.Reason != "" || got.Status.Health != fleet.Healthy || got.SourceError != "" {
			t.Errorf("%s %q, %s: %q; want it to go on", got.Sync, got.Reason, got.Status.Health, got.SourceError)
		}
		if want := "repository policy cannot be read since 12m0s; services continue with the content that was fetched: connection refused"; got.Message != want || len(got.Status.Errors) != 1 || !got.Status.Errors[0].Warning || got.Sources[1].Error == "" {
			t.Errorf("message %q, errors %+v", got.Message, got.Status.Errors)
		}
		report(fleet.Pending, "NoContent")
		if got := env.Get(shop); got.Reason == fleet.ReasonOldAgent {
			t.Errorf("of an agent that may not have seen the parts: %q %q", got.Reason, got.Message)
		}
		env.Clock.Advance(6 * time.Minute)
		if got := env.Get(shop); got.Reason != fleet.ReasonOldAgent || !strings.Contains(got.Message, "agent 0.1.0") {
			t.Errorf("of an agent that knows no parts: %q %q", got.Reason, got.Message)
		}
	})
}
