package globals_test

import (
	"testing"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/store/storetest"
)

// The targets of a project's global service count among its services. Those of a global
// service of the whole hub are the administrators' and count nowhere.
func TestTargetsAreCountedInTheProjectOfTheirGlobalService(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		for _, name := range []string{"edge-1", "edge-2", "edge-3"} {
			b.AddCluster(name)
		}
		limits := fleet.Limits{Services: 2}
		if _, err := b.UpdateProject(t.Context(), "ann", "default", fleet.ProjectChange{Limits: &limits}); err != nil {
			t.Fatal(err)
		}
		everywhere := request()
		everywhere.Spec.ServiceAccount = "deployer"
		everywhere.Spec.Namespace = "web"
		b.apply(everywhere)
		if n := b.count("SELECT count(*) FROM services"); n != 3 {
			t.Fatalf("a global service of the whole hub has %d targets", n)
		}
		ofProject := everywhere
		ofProject.Name, ofProject.Project = "api", "default"
		b.apply(ofProject)
		if n := b.count("SELECT count(*) FROM services WHERE name = 'api'"); n != 2 {
			t.Errorf("%d targets with a limit of 2", n)
		}
		if n := b.count("SELECT count(*) FROM global_failures WHERE message LIKE '%has 2 services%--max-services%'"); n != 1 {
			t.Errorf("%d failures name the limit", n)
		}
	})
}
