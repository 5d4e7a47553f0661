package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
)

// The sources of a service that is made of three.
var (
	appSource   = sourceIDOf("repo_main", "main", "shop")
	rulesSource = sourceIDOf("repo_policy", "v2", "base")
	chartSource = sourceIDOf("repo_https://charts.test", "1.x", "web")
)

func severalSpec() fleet.Spec {
	s := spec("shop")
	s.Sources = []fleet.Source{{Path: "/rules/", Repository: "policy", Git: &fleet.Git{Ref: "v2", Folder: "base"}}}
	s.Helm = &fleet.Helm{URL: "https://charts.test", Chart: "web", Version: "1.x", ValuesFiles: []string{"web.yaml"}}
	return s
}

func contentName(n int) string { return fmt.Sprintf("axle1:%064d", n) }

// several declares the service, and produces its sources as 1, 2 and 3 unless
// they are to be missing.
func (y *yard) several(missing ...string) fleet.ServiceView {
	y.t.Helper()
	for i, id := range []string{appSource, rulesSource, chartSource} {
		if !slices.Contains(missing, id) {
			y.upstream.commit(id, i+1)
		}
	}
	return y.must(y.CreateService(y.t.Context(), "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: "shop"}, Spec: severalSpec()}))
}

// moveTo commits to a source and notifies the fleet.
func (y *yard) moveTo(id string, n int) {
	y.t.Helper()
	y.upstream.commit(id, n)
	y.tell(id)
}

func (y *yard) tell(id string) {
	y.t.Helper()
	if err := y.HeadMoved(y.t.Context(), id); err != nil {
		y.t.Fatal(err)
	}
}

// partNames are "path=n" of a service's parts, in order.
func partNames(parts []fleet.Part) []string {
	var all []string
	for _, p := range parts {
		all = append(all, p.Path+"="+strings.TrimLeft(strings.TrimPrefix(p.Digest, "axle1:"), "0"))
	}
	return all
}

func TestServiceOfSeveralSources(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		c := y.cluster("edge-1")
		shop := y.several(chartSource)
		if shop.Revision != 0 || shop.Desired.Digest != "" || len(shop.NotActing) != 0 {
			t.Errorf("before its last source was produced: revision %d of %q; not acting %v", shop.Revision, shop.Desired.Digest, shop.NotActing)
		}
		y.moveTo(chartSource, 3)
		first := y.get(shop)
		if diff := cmp.Diff([]string{"=1", "rules=2", ".helm-chart=3"}, partNames(first.Parts)); diff != "" || first.Revision != 1 {
			t.Fatalf("revision %d (-want +got):\n%s", first.Revision, diff)
		}
		y.moveTo(rulesSource, 4)
		second := y.get(shop)
		if diff := cmp.Diff([]string{"=1", "rules=4", ".helm-chart=3"}, partNames(second.Parts)); diff != "" || second.Revision != 2 {
			t.Errorf("revision %d (-want +got):\n%s", second.Revision, diff)
		}
		if second.SpecDigest == first.SpecDigest || second.Desired.Digest != contentName(1) {
			t.Error("the spec digest must follow the parts, the digest the first of them")
		}
		// Several at once make one revision, and a late call none.
		y.upstream.commit(appSource, 5)
		y.upstream.commit(chartSource, 6)
		y.tell(chartSource)
		y.tell(appSource)
		if err := y.FollowHeads(t.Context()); err != nil {
			t.Fatal(err)
		}
		third := y.get(shop)
		if diff := cmp.Diff([]string{"=5", "rules=4", ".helm-chart=6"}, partNames(third.Parts)); diff != "" || third.Revision != 3 {
			t.Errorf("revision %d (-want +got):\n%s", third.Revision, diff)
		}
		rows, err := y.LoadRows(t.Context(), []string{shop.ID})
		if err != nil || len(rows) != 1 || rows[0].Digest != contentName(5) || !slices.Equal(partNames(rows[0].Parts), partNames(third.Parts)) {
			t.Errorf("the list is made of %+v, %v", rows, err)
		}
		specs, _, err := y.AgentSpecs(t.Context(), c.ID, []string{shop.ID})
		if err != nil || len(specs) != 1 || !fleet.HasChartPart(specs[0].Service.Parts) {
			t.Errorf("the agent gets %+v, %v", specs, err)
		}
	})
}

func TestServiceStaysWholeWhileASourceFails(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		y.cluster("edge-1")
		shop := y.several()
		y.upstream.fail(rulesSource, "the folder base does not exist")
		y.moveTo(appSource, 7)
		held := y.get(shop)
		if diff := cmp.Diff([]string{"=1", "rules=2", ".helm-chart=3"}, partNames(held.Parts)); diff != "" || held.Revision != 1 {
			t.Errorf("revision %d (-want +got):\n%s", held.Revision, diff)
		}
		if held.Reason != fleet.ReasonSourceError || held.SourceError != "sources[0] (policy): the folder base does not exist" || held.Sources[1].Error == "" || held.Sources[0].Error != "" {
			t.Errorf("said %q: %q", held.Reason, held.SourceError)
		}
		// A change of settings goes out, with the files that run.
		changed := severalSpec()
		changed.Configuration = map[string]string{"colour": "red"}
		updated := y.must(y.UpdateService(t.Context(), "ann", shop.Ref(), changed, nil, false))
		if updated.Revision != 2 || updated.Desired.Digest != contentName(1) {
			t.Errorf("settings made revision %d with %s", updated.Revision, updated.Desired.Digest)
		}
		y.moveTo(rulesSource, 2) // well again, and as it was
		if now := y.get(shop); now.Revision != 3 || !slices.Equal(partNames(now.Parts), []string{"=7", "rules=2", ".helm-chart=3"}) || now.SourceError != "" {
			t.Errorf("afterwards revision %d of %v: %q", now.Revision, partNames(now.Parts), now.SourceError)
		}
	})
}

func TestRollbackTakesAllPartsBack(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		y.cluster("edge-1")
		shop := y.several()
		first := y.get(shop)
		y.moveTo(rulesSource, 8)
		y.moveTo(chartSource, 9)
		back := y.must(y.RollbackService(t.Context(), "ann", shop.Ref(), 1))
		if diff := cmp.Diff(partNames(first.Parts), partNames(back.Parts)); diff != "" || back.PinnedRevision != 1 {
			t.Errorf("pinned to %d (-want +got):\n%s", back.PinnedRevision, diff)
		}
		y.moveTo(appSource, 10)
		if now := y.get(shop); now.Desired.Digest != contentName(1) {
			t.Errorf("a commit moved a pinned service to %s", now.Desired.Digest)
		}
		resumed := y.must(y.ResumeService(t.Context(), "ann", shop.Ref()))
		if diff := cmp.Diff([]string{"=10", "rules=8", ".helm-chart=9"}, partNames(resumed.Parts)); diff != "" {
			t.Errorf("resumed (-want +got):\n%s", diff)
		}
		// Remove one source, then all but one.
		y.must(y.UpdateService(t.Context(), "ann", shop.Ref(), spec("shop"), nil, false))
		if now := y.get(shop); now.Parts != nil || now.Places != nil || now.Desired.Digest != contentName(10) {
			t.Errorf("of one source: %v, %v", partNames(now.Parts), now.Places)
		}
		y.moveTo(rulesSource, 11)
		if now := y.get(shop); now.Parts != nil {
			t.Errorf("a source that was left still moves it: %v", partNames(now.Parts))
		}
		revisions, err := y.Revisions(t.Context(), shop.Ref())
		if err != nil || len(revisions[len(revisions)-1].Parts) != 3 {
			t.Errorf("revisions = %+v, %v", revisions, err)
		}
	})
}

func TestPartsOfKeptRevisionsStayPinned(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		y.cluster("edge-1")
		y.several()
		for n := range 25 {
			y.moveTo(rulesSource, 100+n)
		}
		var all []digest.Digest
		for _, n := range numbers(1, 130) {
			all = append(all, digest.Digest(contentName(n)))
		}
		pinned, err := y.store.Pinned(t.Context(), all)
		if err != nil {
			t.Fatal(err)
		}
		var want []digest.Digest
		for _, n := range append([]int{1, 3}, numbers(105, 124)...) {
			want = append(want, digest.Digest(contentName(n)))
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, pinned); diff != "" {
			t.Errorf("pinned (-want +got):\n%s", diff)
		}
		y.must(y.DeleteService(t.Context(), "ann", fleet.Ref{Cluster: "edge-1", Name: "shop"}, false))
		if err := y.DeleteCluster(t.Context(), "ann", "edge-1", true); err != nil {
			t.Fatal(err)
		}
		if pinned, err = y.store.Pinned(t.Context(), all); err != nil || len(pinned) != 0 {
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
		y := newYard(t, d)
		y.cluster("edge-1")
		y.upstream.commit(appSource, 1)
		y.upstream.commit(rulesSource, 2)
		shop := y.must(y.CreateService(t.Context(), "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: "shop"}, Spec: spec("shop")}))
		y.must(y.UpdateService(t.Context(), "ann", shop.Ref(), severalSpec(), nil, false))
		y.moveTo(appSource, 5)
		if now := y.get(shop); now.Revision != 1 || now.Parts != nil || now.Desired.Digest != contentName(1) || !strings.HasPrefix(now.Message, "helm (https://charts.test): ") {
			t.Errorf("revision %d of %s, %q; want what ran before", now.Revision, now.Desired.Digest, now.Message)
		}
		y.moveTo(chartSource, 3)
		now := y.get(shop)
		if diff := cmp.Diff([]string{"=5", "rules=2", ".helm-chart=3"}, partNames(now.Parts)); diff != "" || now.Revision != 2 || now.Undelivered {
			t.Errorf("revision %d (-want +got):\n%s", now.Revision, diff)
		}
	})
}

// A repository and a source are in use by a service that has them as a part.
func TestPartsUseTheirRepositories(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		y.cluster("edge-1")
		for name, source := range map[string]string{"main": appSource, "policy": rulesSource, "spare": "src_spare"} {
			_, err := y.store.CreateRepository(t.Context(), gitcache.Repository{ID: "repo_" + name, Name: name, Kind: "git", URL: "https://git.test/" + name}, gitcache.Credentials{})
			if err == nil {
				err = y.store.PutSource(t.Context(), gitcache.Source{ID: source, RepositoryID: "repo_" + name, Ref: "main"})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		y.several()
		if n, err := y.store.DropSources(t.Context(), time.Now().Add(time.Hour)); err != nil || n != 1 {
			t.Errorf("dropped %d sources, %v; want only the spare one", n, err)
		}
		for name, code := range map[string]errcode.Code{"main": errcode.Conflict, "policy": errcode.Conflict, "spare": ""} {
			if err := y.store.DeleteRepository(t.Context(), "repo_"+name); errcode.Of(err) != code {
				t.Errorf("deleting %s: %v, want %q", name, err, code)
			}
		}
		uses, err := y.store.ServicesByRepository(t.Context(), "", identity.Reach{Everywhere: true})
		if diff := cmp.Diff(map[string]int{"repo_main": 1, "repo_policy": 1, "repo_https://charts.test": 1}, uses); diff != "" || err != nil {
			t.Errorf("uses, %v (-want +got):\n%s", err, diff)
		}
	})
}

// A row from before services had parts continues with its one source, and
// reports that the others were not followed.
func TestRowsFromBeforeParts(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		y.cluster("edge-1")
		shop := y.several()
		for _, statement := range []string{
			"UPDATE services SET places = ''", "UPDATE contents SET parts = ''", "DELETE FROM service_sources", "DELETE FROM content_parts",
		} {
			if _, err := d.SQL(t).ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		y.moveTo(appSource, 12)
		old := y.get(shop)
		if old.Revision != 2 || old.Parts != nil || old.Desired.Digest != contentName(12) || len(old.NotActing) != 2 || !strings.HasPrefix(old.NotActing[0], "sources[0] ") {
			t.Errorf("revision %d of %s with %v; not acting %q", old.Revision, old.Desired.Digest, partNames(old.Parts), old.NotActing)
		}
		again, outcome, err := y.ApplyService(t.Context(), "ann", fleet.ServiceRequest{Ref: shop.Ref(), Spec: severalSpec()})
		if err != nil || outcome != fleet.Updated || len(again.Parts) != 3 || len(again.NotActing) != 0 {
			t.Errorf("applied again: %s, %v, %v, %v", outcome, partNames(again.Parts), again.NotActing, err)
		}
	})
}

func TestFailingRepositoryIsANote(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		c := y.cluster("edge-1")
		shop := y.several()
		report := func(sync fleet.Sync, reason string) {
			t.Helper()
			now := y.get(shop)
			_, err := y.StoreReports(t.Context(), fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{{ServiceID: shop.ID, NewHash: string(sync) + reason, Status: fleet.Status{
				Sync: sync, Reason: reason, Health: fleet.Healthy, TarballDigest: now.Desired.Digest, SpecDigest: now.SpecDigest,
			}}}})
			if err != nil {
				t.Fatal(err)
			}
		}
		report(fleet.Synced, "")
		y.upstream.failing = map[string]fleet.Upstream{"repo_policy": {Name: "policy", Kind: "git", FailingSince: clock.Micros(y.clock.Now().Add(-12 * time.Minute)), Message: "connection refused"}}
		got := y.get(shop)
		if got.Sync != fleet.Synced || got.Reason != "" || got.Status.Health != fleet.Healthy || got.SourceError != "" {
			t.Errorf("%s %q, %s: %q; want it to go on", got.Sync, got.Reason, got.Status.Health, got.SourceError)
		}
		if want := "repository policy cannot be read since 12m0s; services continue with the content that was fetched: connection refused"; got.Message != want || len(got.Status.Errors) != 1 || !got.Status.Errors[0].Warning || got.Sources[1].Error == "" {
			t.Errorf("message %q, errors %+v", got.Message, got.Status.Errors)
		}
		report(fleet.Pending, "NoContent")
		if got := y.get(shop); got.Reason != fleet.ReasonOldAgent || !strings.Contains(got.Message, "agent 0.1.0") {
			t.Errorf("of an agent that knows no parts: %q %q", got.Reason, got.Message)
		}
	})
}

var _ fleet.Store = (*store.Store)(nil)
