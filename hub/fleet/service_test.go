package fleet_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

func TestMovedHeadRevisesItsServicesAlone(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		web, other := env.AddService("edge-1", "web"), env.AddService("edge-1", "other")
		if web.Revision != 0 || web.Sync != fleet.Pending {
			t.Errorf("before the source was produced: revision %d, %s", web.Revision, web.Sync)
		}
		env.Move(web, 1)
		before := env.Get(other)
		env.Move(web, 2)
		got := env.Get(web)
		if got.Revision != 2 || got.Desired.Message != "change 2" || !strings.HasSuffix(got.Desired.Digest, "2") {
			t.Errorf("got revision %d of %q", got.Revision, got.Desired.Message)
		}
		if diff := cmp.Diff(before.Service, env.Get(other).Service); diff != "" {
			t.Errorf("another source's service was touched:\n%s", diff)
		}
		env.Move(web, 2)
		if again := env.Get(web); again.Revision != 2 {
			t.Errorf("the same head made revision %d", again.Revision)
		}
	})
}

func TestTwentyRevisionsAreKept(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		web := env.AddService("edge-1", "web")
		for n := range 25 {
			env.Move(web, n)
		}
		revisions, err := env.Revisions(t.Context(), web.Ref())
		if err != nil {
			t.Fatal(err)
		}
		if len(revisions) != 20 || revisions[0].Number != 25 || revisions[19].Number != 6 || !revisions[0].Current || revisions[1].Current {
			t.Errorf("kept %d, from %d to %d", len(revisions), revisions[0].Number, revisions[len(revisions)-1].Number)
		}
		if revisions[19].Cause != fleet.CauseCommit || revisions[19].Spec.Git.Folder != "web" {
			t.Errorf("oldest = %+v", revisions[19])
		}
	})
}

func TestRollbackPins(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		web := env.AddService("edge-1", "web")
		env.Move(web, 1)
		env.Move(web, 2)
		changed := fleettest.Spec("web")
		changed.Configuration = map[string]string{"colour": "red"}
		env.Must(env.UpdateService(t.Context(), "ann", web.Ref(), changed, nil, false))

		why := event.Because(t.Context(), event.Why{Reason: "it broke", Operation: "op_1"})
		back := env.Must(env.RollbackService(why, "ann", web.Ref(), 1))
		if all, err := env.Revisions(t.Context(), web.Ref()); err != nil || all[0].Reason != "it broke" || all[1].Reason != "" {
			t.Errorf("revisions %+v, %v", all, err)
		}
		if back.PinnedRevision != 1 || back.Revision != 4 || back.Desired.Message != "change 1" {
			t.Errorf("pinned to %d at %d: %s", back.PinnedRevision, back.Revision, back.Desired.Message)
		}
		specs, _, err := env.AgentSpecs(t.Context(), web.ClusterID, []string{web.ID})
		if err != nil || len(specs) != 1 || len(specs[0].Service.Spec.Configuration) != 0 {
			t.Errorf("the agent gets %+v, %v; want the spec of revision 1", specs, err)
		}
		env.Move(web, 3)
		if now := env.Get(web); now.Revision != 4 || now.Desired.Message != "change 1" {
			t.Errorf("a commit moved a pinned service to %q", now.Desired.Message)
		}
		same := env.Must(env.RollbackService(t.Context(), "ann", web.Ref(), 1))
		if same.Revision != 4 {
			t.Errorf("the same rollback made revision %d", same.Revision)
		}
		if err := env.FollowHeads(t.Context()); err != nil {
			t.Fatal(err)
		}
		resumed := env.Must(env.ResumeService(t.Context(), "ann", web.Ref()))
		if resumed.PinnedRevision != 0 || resumed.Desired.Message != "change 3" || resumed.Spec.Configuration["colour"] != "red" {
			t.Errorf("resumed at %q with %v", resumed.Desired.Message, resumed.Spec.Configuration)
		}
		_, err = env.RollbackService(t.Context(), "ann", web.Ref(), resumed.Revision)
		fleettest.WantCode(t, err, errcode.Conflict)
		_, err = env.RollbackService(t.Context(), "ann", web.Ref(), 99)
		fleettest.WantCode(t, err, errcode.NotFound)
	})
}

func TestTombstoneStaysUntilDrained(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		c := env.AddCluster("edge-1")
		web := env.AddService("edge-1", "web")
		gone := env.Must(env.DeleteService(t.Context(), "ann", web.Ref(), false))
		again := env.Must(env.DeleteService(t.Context(), "ann", web.Ref(), true))
		if gone.Deleting != fleet.Drain || gone.TombstoneID == "" || again.TombstoneID != gone.TombstoneID || again.Deleting != fleet.Detach {
			t.Errorf("tombstone %q %s, then %q %s", gone.TombstoneID, gone.Deleting, again.TombstoneID, again.Deleting)
		}
		other := env.AddCluster("edge-2")
		for _, b := range []fleet.ReportBatch{
			{ClusterID: c.ID, Drained: []string{"tmb_other"}},
			{ClusterID: other.ID, Drained: []string{gone.TombstoneID}},
			{ClusterID: c.ID, Whole: true},
		} {
			if _, err := env.StoreReports(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			env.Get(web)
		}
		_, err := env.UpdateService(t.Context(), "ann", web.Ref(), fleettest.Spec("web"), nil, false)
		fleettest.WantCode(t, err, errcode.Conflict)
		if _, err := env.StoreReports(t.Context(), fleet.ReportBatch{ClusterID: c.ID, Drained: []string{gone.TombstoneID}}); err != nil {
			t.Fatal(err)
		}
		_, err = env.Service(t.Context(), web.Ref())
		fleettest.WantCode(t, err, errcode.NotFound)
	})
}

func TestServiceOfAnUnregisteredClusterGoesAtOnce(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		if _, err := env.CreateCluster(t.Context(), "ann", fleet.NewCluster{Name: "edge-1"}); err != nil {
			t.Fatal(err)
		}
		web := env.AddService("edge-1", "web")
		env.Must(env.DeleteService(t.Context(), "ann", web.Ref(), false))
		_, err := env.Service(t.Context(), web.Ref())
		fleettest.WantCode(t, err, errcode.NotFound)
	})
}

func TestProtectRefusesDeletion(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		s := fleettest.Spec("web")
		s.Protect = true
		web := env.Must(env.CreateService(t.Context(), "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: "web"}, Spec: s}))
		_, err := env.DeleteService(t.Context(), "ann", web.Ref(), true)
		fleettest.WantCode(t, err, errcode.Conflict)
		fleettest.WantCode(t, env.DeleteCluster(t.Context(), "ann", "edge-1", true), errcode.Conflict)
		env.Get(web)
	})
}

func TestSecretsAreNotStoredInClear(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		const secret = "correct-horse-battery"
		env := fleettest.New(t, d)
		c := env.AddCluster("edge-1")
		s := fleettest.Spec("web")
		s.Secrets = map[string]string{"password": secret, "old": "x"}
		web := env.Must(env.CreateService(t.Context(), "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: "web"}, Spec: s}))
		env.Move(web, 1)
		want := map[string]string{"password": "", "old": ""}
		read := env.Get(web)
		if diff := cmp.Diff(want, read.Spec.Secrets); diff != "" {
			t.Errorf("secrets read back (-want +got):\n%s", diff)
		}
		if text := fmt.Sprintf("%+v", read); strings.Contains(text, secret) {
			t.Error("a view shows a secret")
		}
		delete(read.Spec.Secrets, "old")
		env.Must(env.UpdateService(t.Context(), "ann", web.Ref(), read.Spec, nil, false))
		specs, _, err := env.AgentSpecs(t.Context(), c.ID, []string{web.ID})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"password": secret}, specs[0].Secrets); diff != "" {
			t.Errorf("what was read and written back (-want +got):\n%s", diff)
		}
		d.WantAbsent(t, secret, "services", "revisions", "events")
	})
}

func TestApplyServiceIsIdempotent(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		r := fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: "web"}, Spec: fleettest.Spec("web")}
		r.Spec.Configuration, r.Spec.Dependencies = map[string]string{}, []fleet.Dependency{}
		step := func(dryRun bool, want fleet.Outcome) fleet.ServiceView {
			t.Helper()
			r.DryRun = dryRun
			v, got, err := env.ApplyService(t.Context(), "ann", r)
			if err != nil || got != want {
				t.Errorf("got %s, %v, want %s", got, err, want)
			}
			return v
		}
		step(true, fleet.Created)
		step(false, fleet.Created)
		step(false, fleet.Unchanged)
		r.Spec.Namespace = "shop"
		step(true, fleet.Updated)
		if v := step(false, fleet.Updated); v.Namespace != "shop" {
			t.Errorf("namespace %q", v.Namespace)
		}
		var kinds []string
		for _, e := range env.Events("") {
			if e.Service != "" {
				kinds = append(kinds, e.Kind+" by "+e.By)
			}
		}
		want := []string{"service.updated by ann", "service.created by ann"}
		if diff := cmp.Diff(want, kinds); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestUpdateOfSomeFieldsKeepsTheOthers(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		web := env.AddService("edge-1", "web")
		v := env.Must(env.UpdateService(t.Context(), "ann", web.Ref(), fleet.Spec{Git: &fleet.Git{Ref: "v2"}}, []string{"git.ref"}, false))
		if v.Spec.Git.Ref != "v2" || v.Spec.Git.Folder != "web" || v.SourceID == web.SourceID {
			t.Errorf("got %+v, source %s", v.Spec.Git, v.SourceID)
		}
		_, err := env.UpdateService(t.Context(), "ann", web.Ref(), fleet.Spec{}, []string{"git.reff"}, false)
		fleettest.WantCode(t, err, errcode.Invalid)
	})
}

func TestInvalidServicesAreRefused(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		waits := func(name, on string) fleet.ServiceRequest {
			s := fleettest.Spec(name)
			s.Dependencies = []fleet.Dependency{{Name: on}}
			return fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: name}, Spec: s}
		}
		env.Must(env.CreateService(t.Context(), "ann", waits("a", "b")))
		env.Must(env.CreateService(t.Context(), "ann", waits("b", "c")))
		missing := fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: "m"}, Spec: fleet.Spec{Repository: "missing", Git: &fleet.Git{Ref: "main"}}}
		nowhere := fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-9", Name: "m"}, Spec: fleettest.Spec("m")}
		for name, tc := range map[string]struct {
			request fleet.ServiceRequest
			code    errcode.Code
			text    string
		}{
			"cycle":              {waits("c", "a"), errcode.Invalid, "c → a → b → c"},
			"unknown repository": {missing, errcode.Invalid, "repository"},
			"unknown cluster":    {nowhere, errcode.NotFound, "edge-9"},
			"twice":              {waits("a", "b"), errcode.Conflict, "exists"},
		} {
			_, err := env.CreateService(t.Context(), "ann", tc.request)
			if !errcode.Is(err, tc.code) || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("%s: err = %v", name, err)
			}
		}
	})
}

func TestConcurrentHeadsEndAtTheNewest(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		web := env.AddService("edge-1", "web")
		var group sync.WaitGroup
		for n := 1; n <= 8; n++ {
			env.Upstream.Commit(web.SourceID, n)
			group.Go(func() {
				if err := env.HeadMoved(t.Context(), web.SourceID); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		revisions, err := env.Revisions(t.Context(), web.Ref())
		if err != nil {
			t.Fatal(err)
		}
		if got := env.Get(web); got.Desired.Message != "change 8" {
			t.Errorf("ended at %q", got.Desired.Message)
		}
		for i := 1; i < len(revisions); i++ {
			if revisions[i].SourceRevision >= revisions[i-1].SourceRevision {
				t.Errorf("revision %d went back from %s to %s", revisions[i-1].Number, revisions[i].SourceRevision, revisions[i-1].SourceRevision)
			}
		}
	})
}

func TestSourceErrorIsShown(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		web := env.AddService("edge-1", "web")
		env.Upstream.Fail(web.SourceID, `ref "main" does not exist`)
		got := env.Get(web)
		if got.Sync != fleet.Failed || got.Reason != fleet.ReasonSourceError || got.Message != `ref "main" does not exist` || got.SourceErrorAt != 7 {
			t.Errorf("got %s %s %q", got.Sync, got.Reason, got.Message)
		}
		env.Move(web, 1)
		if got := env.Get(web); got.Sync != fleet.Pending || got.Message == "" {
			t.Errorf("after the cause is gone: %s %q", got.Sync, got.Message)
		}
	})
}

func TestAnUpdateWaitsForItsSource(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		c := env.AddCluster("edge-1")
		web := env.AddService("edge-1", "web")
		env.Move(web, 1)
		running := env.Get(web)
		next := fleettest.Spec("web")
		next.Git.Ref, next.Namespace = "v2", "shop"
		waiting := env.Must(env.UpdateService(t.Context(), "ann", web.Ref(), next, nil, false))
		if waiting.Sync != fleet.Pending || waiting.Revision != 1 || waiting.SpecDigest != running.SpecDigest || waiting.Namespace != "web" || waiting.Spec.Git.Ref != "v2" {
			t.Errorf("while v2 was not produced: %s at %d in %s", waiting.Sync, waiting.Revision, waiting.Namespace)
		}
		specs, _, err := env.AgentSpecs(t.Context(), c.ID, []string{web.ID})
		if err != nil || len(specs) != 1 || specs[0].Service.Spec.Git.Ref != "main" {
			t.Errorf("the agent gets %+v, %v; want what runs", specs, err)
		}
		env.Upstream.Fail(waiting.SourceID, `ref "v2" does not exist`)
		if got := env.Get(web); got.Sync != fleet.Failed || got.Reason != fleet.ReasonSourceError || got.Desired.Digest != running.Desired.Digest {
			t.Errorf("with an unknown ref: %s %s", got.Sync, got.Reason)
		}
		env.Move(waiting, 1)
		done := env.Get(web)
		if done.Revision != 2 || done.Namespace != "shop" || done.SpecDigest == running.SpecDigest || done.Undelivered {
			t.Errorf("after v2 was produced: revision %d in %s", done.Revision, done.Namespace)
		}
		revisions, err := env.Revisions(t.Context(), web.Ref())
		if err != nil || revisions[0].Cause != fleet.CauseUpdate {
			t.Errorf("revisions %+v, %v", revisions, err)
		}
	})
}

func TestHeadsMoveInBatches(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		const count = 501
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		err := env.Store.Write(t.Context(), func(ctx context.Context) error {
			for n := range count {
				ref := fleet.Ref{Cluster: "edge-1", Name: fmt.Sprintf("svc-%03d", n)}
				if _, err := env.CreateService(ctx, "ann", fleet.ServiceRequest{Ref: ref, Spec: fleettest.Spec("web")}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		env.Upstream.Commit(fleettest.SourceID("repo_main", "main", "web"), 1)
		if err := env.FollowHeads(t.Context()); err != nil {
			t.Fatal(err)
		}
		rows := 0
		err = env.LoadAll(t.Context(), func(r fleet.Row) error {
			if r.Digest != "" && r.SpecDigest != "" {
				rows++
			}
			return nil
		})
		if err != nil || rows != count {
			t.Errorf("%d services have the content, want %d; %v", rows, count, err)
		}
	})
}
