package fleet_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/store/storetest"
)

// TestTestRunsAreKept: a run is one row while it is reported again and again,
// the newest 20 stay, another cluster's agent cannot write it, and it goes with
// its service.
func TestTestRunsAreKept(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		c, other := env.AddCluster("edge-1"), env.AddCluster("edge-2")
		web := env.AddService("edge-1", "web")
		ref := fleet.Ref{Cluster: "edge-1", Name: "web"}
		say := func(clusterID string, r fleet.TestRun) {
			t.Helper()
			if err := env.StoreTestRuns(t.Context(), clusterID, []fleet.TestRun{r}); err != nil {
				t.Fatal(err)
			}
		}
		runs := func(revision int64) []fleet.TestRun {
			t.Helper()
			all, err := env.TestRuns(t.Context(), ref, revision)
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		run := fleet.TestRun{ServiceID: web.ID, Key: "k1", Revision: 1, SourceRevision: "abc", TarballDigest: "axle1:a", SpecDigest: "s1:a",
			State: fleet.TestRunning, StartedAt: 5, Tests: []fleet.TestResult{{Namespace: "web", Name: "smoke", State: fleet.TestRunning,
				Attempt: 1, Attempts: 2, StartedAt: 5, Tail: "one\n", LogBytes: 4}}}
		say(c.ID, run)
		run.State, run.EndedAt = fleet.TestFailed, 9
		run.Tests[0].State, run.Tests[0].Tail = fleet.TestFailed, "one\ntwo\n"
		run.Tests[0].Report = &fleet.TestReport{Tests: 3, Failures: 1, Failed: []fleet.TestCase{{Suite: "s", Name: "n", Message: "m"}}}
		say(c.ID, run)
		stolen := run
		stolen.State = fleet.TestPassed
		say(other.ID, stolen)
		got := runs(0)
		if diff := cmp.Diff([]fleet.TestRun{run}, got, cmpopts.IgnoreFields(fleet.TestRun{}, "CreatedAt", "ReportedAt")); diff != "" {
			t.Errorf("runs (-want +got):\n%s", diff)
		}
		if len(got) == 1 && (got[0].CreatedAt == 0 || got[0].ReportedAt < got[0].CreatedAt) {
			t.Errorf("created at %d, reported at %d", got[0].CreatedAt, got[0].ReportedAt)
		}
		for n := 2; n <= 25; n++ {
			say(c.ID, fleet.TestRun{ServiceID: web.ID, Key: fmt.Sprintf("k%d", n), Revision: int64(n), State: fleet.TestPassed, Tests: []fleet.TestResult{}})
		}
		if all := runs(0); len(all) != 20 || all[0].Revision != 25 {
			t.Errorf("%d runs are kept, the first of revision %d", len(all), all[0].Revision)
		}
		if one := runs(24); len(one) != 1 || one[0].State != fleet.TestPassed {
			t.Errorf("of revision 24: %+v", one)
		}
		if err := env.Store.Write(t.Context(), func(ctx context.Context) error { return env.Store.DeleteService(ctx, web.ID) }); err != nil {
			t.Fatal(err)
		}
		if rest, err := env.Store.TestRuns(t.Context(), web.ID); err != nil || len(rest) != 0 {
			t.Errorf("after its service: %d runs, %v", len(rest), err)
		}
	})
}
