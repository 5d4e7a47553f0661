package globals_test

import (
	"testing"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/fleet/globals"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/hub/store/storetest"
)

// A target that would wait for itself is released without its objects: nobody could be
// answered with the refusal that its deletion gets.
func TestReleasedTargetThatWouldWaitForItself(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		mgmt := b.AddCluster("edge-0")
		b.AddRepository("main", managed.Manager{Tool: managed.Operator, ID: "uid-" + mgmt.ID + "/GitRepository.deployments.plural.sh//main"})
		r := request()
		r.Cascade = globals.Delete
		b.apply(r)
		report := fleettest.ReportOf(b.target("edge-0"), "", "h1")
		report.Status.Components = b.Components(fleet.Object{Group: "deployments.plural.sh", Kind: "GitRepository", Name: "main"})
		b.Report(fleet.ReportBatch{ClusterID: mgmt.ID, Reports: []fleet.Report{report}})
		if err := b.Delete(t.Context(), "ann", "web", ""); err != nil {
			t.Fatal(err)
		}
		b.spread()
		if v := b.target("edge-0"); v.Deleting != fleet.Detach {
			t.Errorf("deleting is %q", v.Deleting)
		}
	})
}
