package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

func enrollment(clusterID string) identity.Enrollment {
	return identity.Enrollment{ClusterID: clusterID, ClusterUID: "uid-" + clusterID, AgentVersion: "0.1.0", By: "ann"}
}

func TestMovedHeadRevisesItsServicesAlone(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		y.cluster("edge-1")
		web, other := y.service("edge-1", "web"), y.service("edge-1", "other")
		if web.Revision != 0 || web.Sync != fleet.Pending {
			t.Errorf("before the source was produced: revision %d, %s", web.Revision, web.Sync)
		}
		y.move(web, 1)
		before := y.get(other)
		y.move(web, 2)
		got := y.get(web)
		if got.Revision != 2 || got.Desired.Message != "change 2" || !strings.HasSuffix(got.Desired.Digest, "2") {
			t.Errorf("got revision %d of %q", got.Revision, got.Desired.Message)
		}
		if diff := cmp.Diff(before.Service, y.get(other).Service); diff != "" {
			t.Errorf("another source's service was touched:\n%s", diff)
		}
		y.move(web, 2)
		if again := y.get(web); again.Revision != 2 {
			t.Errorf("the same head made revision %d", again.Revision)
		}
	})
}

func TestTwentyRevisionsAreKept(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		y.cluster("edge-1")
		web := y.service("edge-1", "web")
		for n := range 25 {
			y.move(web, n)
		}
		revisions, err := y.Revisions(t.Context(), web.Ref())
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
		y := newYard(t, d)
		y.cluster("edge-1")
		web := y.service("edge-1", "web")
		y.move(web, 1)
		y.move(web, 2)
		changed := spec("web")
		changed.Configuration = map[string]string{"colour": "red"}
		y.must(y.UpdateService(t.Context(), "ann", web.Ref(), changed, nil, false))

		back := y.must(y.RollbackService(t.Context(), "ann", web.Ref(), 1))
		if back.PinnedRevision != 1 || back.Revision != 4 || back.Desired.Message != "change 1" {
			t.Errorf("pinned to %d at %d: %s", back.PinnedRevision, back.Revision, back.Desired.Message)
		}
		specs, _, err := y.AgentSpecs(t.Context(), web.ClusterID, []string{web.ID})
		if err != nil || len(specs) != 1 || len(specs[0].Service.Spec.Configuration) != 0 {
			t.Errorf("the agent gets %+v, %v; want the spec of revision 1", specs, err)
		}
		y.move(web, 3)
		if now := y.get(web); now.Revision != 4 || now.Desired.Message != "change 1" {
			t.Errorf("a commit moved a pinned service to %q", now.Desired.Message)
		}
		same := y.must(y.RollbackService(t.Context(), "ann", web.Ref(), 1))
		if same.Revision != 4 {
			t.Errorf("the same rollback made revision %d", same.Revision)
		}
		if err := y.FollowHeads(t.Context()); err != nil {
			t.Fatal(err)
		}
		resumed := y.must(y.ResumeService(t.Context(), "ann", web.Ref()))
		if resumed.PinnedRevision != 0 || resumed.Desired.Message != "change 3" || resumed.Spec.Configuration["colour"] != "red" {
			t.Errorf("resumed at %q with %v", resumed.Desired.Message, resumed.Spec.Configuration)
		}
		_, err = y.RollbackService(t.Context(), "ann", web.Ref(), resumed.Revision)
		wantCode(t, err, errcode.Conflict)
		_, err = y.RollbackService(t.Context(), "ann", web.Ref(), 99)
		wantCode(t, err, errcode.NotFound)
	})
}

func TestTombstoneStaysUntilDrained(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		c := y.cluster("edge-1")
		web := y.service("edge-1", "web")
		gone := y.must(y.DeleteService(t.Context(), "ann", web.Ref(), false))
		again := y.must(y.DeleteService(t.Context(), "ann", web.Ref(), true))
		if gone.Deleting != fleet.Drain || gone.TombstoneID == "" || again.TombstoneID != gone.TombstoneID || again.Deleting != fleet.Detach {
			t.Errorf("tombstone %q %s, then %q %s", gone.TombstoneID, gone.Deleting, again.TombstoneID, again.Deleting)
		}
		other := y.cluster("edge-2")
		for _, b := range []fleet.ReportBatch{
			{ClusterID: c.ID, Drained: []string{"tmb_other"}},
			{ClusterID: other.ID, Drained: []string{gone.TombstoneID}},
			{ClusterID: c.ID, Whole: true},
		} {
			if _, err := y.StoreReports(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			y.get(web)
		}
		_, err := y.UpdateService(t.Context(), "ann", web.Ref(), spec("web"), nil, false)
		wantCode(t, err, errcode.Conflict)
		if _, err := y.StoreReports(t.Context(), fleet.ReportBatch{ClusterID: c.ID, Drained: []string{gone.TombstoneID}}); err != nil {
			t.Fatal(err)
		}
		_, err = y.Service(t.Context(), web.Ref())
		wantCode(t, err, errcode.NotFound)
	})
}

func TestServiceOfAnUnregisteredClusterGoesAtOnce(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		if _, err := y.CreateCluster(t.Context(), "ann", fleet.NewCluster{Name: "edge-1"}); err != nil {
			t.Fatal(err)
		}
		web := y.service("edge-1", "web")
		y.must(y.DeleteService(t.Context(), "ann", web.Ref(), false))
		_, err := y.Service(t.Context(), web.Ref())
		wantCode(t, err, errcode.NotFound)
	})
}

func TestProtectRefusesDeletion(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		y.cluster("edge-1")
		s := spec("web")
		s.Protect = true
		web := y.must(y.CreateService(t.Context(), "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: "web"}, Spec: s}))
		_, err := y.DeleteService(t.Context(), "ann", web.Ref(), true)
		wantCode(t, err, errcode.Conflict)
		wantCode(t, y.DeleteCluster(t.Context(), "ann", "edge-1", true), errcode.Conflict)
		y.get(web)
	})
}

func TestSecretsAreNotStoredInClear(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		const secret = "correct-horse-battery"
		y := newYard(t, d)
		c := y.cluster("edge-1")
		s := spec("web")
		s.Secrets = map[string]string{"password": secret, "old": "x"}
		web := y.must(y.CreateService(t.Context(), "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: "web"}, Spec: s}))
		y.move(web, 1)
		want := map[string]string{"password": "", "old": ""}
		read := y.get(web)
		if diff := cmp.Diff(want, read.Spec.Secrets); diff != "" {
			t.Errorf("secrets read back (-want +got):\n%s", diff)
		}
		if text := fmt.Sprintf("%+v", read); strings.Contains(text, secret) {
			t.Error("a view shows a secret")
		}
		delete(read.Spec.Secrets, "old")
		y.must(y.UpdateService(t.Context(), "ann", web.Ref(), read.Spec, nil, false))
		specs, _, err := y.AgentSpecs(t.Context(), c.ID, []string{web.ID})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"password": secret}, specs[0].Secrets); diff != "" {
			t.Errorf("what was read and written back (-want +got):\n%s", diff)
		}
		wantAbsent(t, d, secret, "services", "revisions", "events")
	})
}

// wantAbsent looks for text in every column of every row of some tables.
func wantAbsent(t *testing.T, d storetest.Database, text string, tables ...string) {
	t.Helper()
	db := d.SQL(t)
	for _, table := range tables {
		rows, err := db.QueryContext(t.Context(), "SELECT * FROM "+table)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		names, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for rows.Next() {
			count++
			values, into := make([]sql.RawBytes, len(names)), make([]any, len(names))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			for i, value := range values {
				if bytes.Contains(value, []byte(text)) {
					t.Errorf("%s.%s holds it in clear", table, names[i])
				}
			}
		}
		if err := rows.Err(); err != nil || count == 0 {
			t.Errorf("%s: %d rows, %v", table, count, err)
		}
	}
}

func TestApplyServiceIsIdempotent(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		y.cluster("edge-1")
		r := fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: "web"}, Spec: spec("web")}
		r.Spec.Configuration, r.Spec.Dependencies = map[string]string{}, []fleet.Dependency{}
		step := func(dryRun bool, want fleet.Outcome) fleet.ServiceView {
			t.Helper()
			r.DryRun = dryRun
			v, got, err := y.ApplyService(t.Context(), "ann", r)
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
		entries, err := y.store.Events(t.Context(), store.EventFilter{})
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, e := range entries {
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
		y := newYard(t, d)
		y.cluster("edge-1")
		web := y.service("edge-1", "web")
		v := y.must(y.UpdateService(t.Context(), "ann", web.Ref(), fleet.Spec{Git: &fleet.Git{Ref: "v2"}}, []string{"git.ref"}, false))
		if v.Spec.Git.Ref != "v2" || v.Spec.Git.Folder != "web" || v.SourceID == web.SourceID {
			t.Errorf("got %+v, source %s", v.Spec.Git, v.SourceID)
		}
		_, err := y.UpdateService(t.Context(), "ann", web.Ref(), fleet.Spec{}, []string{"git.reff"}, false)
		wantCode(t, err, errcode.Invalid)
	})
}

func TestInvalidServicesAreRefused(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		y.cluster("edge-1")
		waits := func(name, on string) fleet.ServiceRequest {
			s := spec(name)
			s.Dependencies = []fleet.Dependency{{Name: on}}
			return fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: name}, Spec: s}
		}
		y.must(y.CreateService(t.Context(), "ann", waits("a", "b")))
		y.must(y.CreateService(t.Context(), "ann", waits("b", "c")))
		missing := fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: "m"}, Spec: fleet.Spec{Repository: "missing", Git: &fleet.Git{Ref: "main"}}}
		nowhere := fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-9", Name: "m"}, Spec: spec("m")}
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
			_, err := y.CreateService(t.Context(), "ann", tc.request)
			if !errcode.Is(err, tc.code) || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("%s: err = %v", name, err)
			}
		}
	})
}

func TestConcurrentHeadsEndAtTheNewest(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		y.cluster("edge-1")
		web := y.service("edge-1", "web")
		var group sync.WaitGroup
		for n := 1; n <= 8; n++ {
			y.upstream.commit(web.SourceID, n)
			group.Go(func() {
				if err := y.HeadMoved(t.Context(), web.SourceID); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		revisions, err := y.Revisions(t.Context(), web.Ref())
		if err != nil {
			t.Fatal(err)
		}
		if got := y.get(web); got.Desired.Message != "change 8" {
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
		y := newYard(t, d)
		y.cluster("edge-1")
		web := y.service("edge-1", "web")
		y.upstream.fail(web.SourceID, `ref "main" does not exist`)
		got := y.get(web)
		if got.Sync != fleet.Failed || got.Reason != fleet.ReasonSourceError || got.Message != `ref "main" does not exist` || got.SourceErrorAt != 7 {
			t.Errorf("got %s %s %q", got.Sync, got.Reason, got.Message)
		}
		y.move(web, 1)
		if got := y.get(web); got.Sync != fleet.Pending || got.Message == "" {
			t.Errorf("after the cause is gone: %s %q", got.Sync, got.Message)
		}
	})
}

func TestAnUpdateWaitsForItsSource(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		c := y.cluster("edge-1")
		web := y.service("edge-1", "web")
		y.move(web, 1)
		running := y.get(web)
		next := spec("web")
		next.Git.Ref, next.Namespace = "v2", "shop"
		waiting := y.must(y.UpdateService(t.Context(), "ann", web.Ref(), next, nil, false))
		if waiting.Sync != fleet.Pending || waiting.Revision != 1 || waiting.SpecDigest != running.SpecDigest || waiting.Namespace != "web" || waiting.Spec.Git.Ref != "v2" {
			t.Errorf("while v2 was not produced: %s at %d in %s", waiting.Sync, waiting.Revision, waiting.Namespace)
		}
		specs, _, err := y.AgentSpecs(t.Context(), c.ID, []string{web.ID})
		if err != nil || len(specs) != 1 || specs[0].Service.Spec.Git.Ref != "main" {
			t.Errorf("the agent gets %+v, %v; want what runs", specs, err)
		}
		y.upstream.fail(waiting.SourceID, `ref "v2" does not exist`)
		if got := y.get(web); got.Sync != fleet.Failed || got.Reason != fleet.ReasonSourceError || got.Desired.Digest != running.Desired.Digest {
			t.Errorf("with an unknown ref: %s %s", got.Sync, got.Reason)
		}
		y.move(waiting, 1)
		done := y.get(web)
		if done.Revision != 2 || done.Namespace != "shop" || done.SpecDigest == running.SpecDigest || done.Undelivered {
			t.Errorf("after v2 was produced: revision %d in %s", done.Revision, done.Namespace)
		}
		revisions, err := y.Revisions(t.Context(), web.Ref())
		if err != nil || revisions[0].Cause != fleet.CauseUpdate {
			t.Errorf("revisions %+v, %v", revisions, err)
		}
	})
}

func TestHeadsMoveInBatches(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		const count = 501
		y := newYard(t, d)
		y.cluster("edge-1")
		err := y.store.Write(t.Context(), func(ctx context.Context) error {
			for n := range count {
				ref := fleet.Ref{Cluster: "edge-1", Name: fmt.Sprintf("svc-%03d", n)}
				if _, err := y.CreateService(ctx, "ann", fleet.ServiceRequest{Ref: ref, Spec: spec("web")}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		y.upstream.commit(sourceIDOf("repo_main", "main", "web"), 1)
		if err := y.FollowHeads(t.Context()); err != nil {
			t.Fatal(err)
		}
		rows := 0
		err = y.LoadAll(t.Context(), func(r fleet.Row) error {
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
