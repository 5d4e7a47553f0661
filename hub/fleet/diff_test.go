package fleet_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

// TestDiffIsAskedForAndKept: asking counts and changes the spec that the agent
// fetches, the last answer is kept, another cluster's agent cannot give it,
// and it goes with its service.
func TestDiffIsAskedForAndKept(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		c, other := env.AddCluster("edge-1"), env.AddCluster("edge-2")
		web := env.AddService("edge-1", "web")
		ref := fleet.Ref{Cluster: "edge-1", Name: "web"}
		if d, requested, err := env.DiffOf(t.Context(), "ann", ref, false); err != nil || requested != 0 || d.ServiceID != "" {
			t.Fatalf("before anybody asked: %+v %d %v", d, requested, err)
		}
		if _, requested, err := env.DiffOf(t.Context(), "ann", ref, true); err != nil || requested != 1 {
			t.Fatalf("%d %v", requested, err)
		}
		asked, err := env.Service(t.Context(), ref)
		if err != nil || asked.DiffRequest != 1 || asked.SpecDigest == web.SpecDigest {
			t.Fatalf("the agent would not hear of it: %+v %v", asked.Service, err)
		}
		want := fleet.Diff{ServiceID: web.ID, Request: 1, Revision: 3, SourceRevision: "abc", MadeAt: 7, Differences: []byte{1, 2, 3}}
		stolen := want
		stolen.Error = "stolen"
		for cluster, d := range map[string]fleet.Diff{c.ID: want, other.ID: stolen} {
			if err := env.StoreDiff(t.Context(), cluster, d); err != nil {
				t.Fatal(err)
			}
		}
		got, requested, err := env.DiffOf(t.Context(), "ann", ref, false)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(fleet.Diff{}, "ReportedAt")); diff != "" || requested != 1 || err != nil || got.ReportedAt == 0 {
			t.Errorf("%s %d %v", diff, requested, err)
		}
	})
}

func TestSyncOfSomeObjects(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		env.AddService("edge-1", "web")
		ref := fleet.Ref{Cluster: "edge-1", Name: "web"}
		if _, err := env.PauseService(t.Context(), "ann", ref); err != nil {
			t.Fatal(err)
		}
		if _, err := env.SyncService(t.Context(), "ann", ref); !errcode.Is(err, errcode.Conflict) {
			t.Errorf("a paused service is synced: %v", err)
		}
		v, err := env.SyncService(t.Context(), "ann", ref, "apps:Deployment:web", ":ConfigMap:ns/web")
		if err != nil || v.SyncRequest != 1 || len(v.SyncResources) != 2 {
			t.Errorf("%+v %v", v.Service, err)
		}
		for _, text := range []string{"web", "Deployment:web", "apps::web", "apps:Deployment:", "apps:Deployment:a/b/c"} {
			if _, err := env.SyncService(t.Context(), "ann", ref, text); !errcode.Is(err, errcode.Invalid) {
				t.Errorf("%s: %v", text, err)
			}
		}
	})
}
