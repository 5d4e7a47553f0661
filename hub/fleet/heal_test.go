package fleet_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/store/storetest"
)

// healEvents are the events of heals, oldest first.
func healEvents(env *fleettest.Fleet) (all []string) {
	env.T.Helper()
	for _, e := range env.Events("") {
		if e.Kind == "service.healed" {
			all = append([]string{e.Object + " | " + e.By + " | " + e.Message}, all...)
		}
	}
	return all
}

// What an agent healed is an event with the service's name, the field and who
// had written it; only once, however often the report is sent.
func TestHealsAreEventsOfTheirServices(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		here, there := env.AddCluster("edge-1"), env.AddCluster("edge-2")
		web, api, other := env.AddService("edge-1", "web"), env.AddService("edge-1", "api"), env.AddService("edge-2", "other")
		heal := func(number int64, of fleet.ServiceView, fields ...fleet.DriftedField) fleet.Heal {
			return fleet.Heal{Number: number, ServiceID: of.ID, At: 1, Object: "Deployment shop/" + of.Name, Fields: fields}
		}
		edited := fleet.DriftedField{Path: ".spec.replicas", Manager: "kubectl-edit"}
		report := func(boot string, heals ...fleet.Heal) {
			t.Helper()
			if _, err := env.StoreReports(t.Context(), fleet.ReportBatch{ClusterID: here.ID, BootID: boot, Heals: heals}); err != nil {
				t.Fatal(err)
			}
		}
		want := func(what string, lines ...string) {
			t.Helper()
			if diff := cmp.Diff(lines, healEvents(env)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		first := "service edge-1/web | agent edge-1 | Deployment shop/web: put back .spec.replicas (by kubectl-edit)"
		report("boot-1", heal(1, web, edited))
		want("one heal", first)
		report("boot-1", heal(1, web, edited))
		want("sent again", first)
		gone := "service edge-1/api | agent edge-1 | Deployment shop/api was gone and was created again; and 1 more object"
		report("boot-1", heal(1, web, edited), heal(2, api), heal(3, api, edited))
		want("sent again with more", first, gone)
		many := heal(1, web, edited, edited, edited, edited, edited, edited, edited)
		many.Times = 4
		report("boot-2", many, heal(2, other, edited), fleet.Heal{Number: 3, ServiceID: "svc_none", Object: "Pod a/b"})
		entries := healEvents(env)
		if len(entries) != 3 || !strings.HasSuffix(entries[2], "(by kubectl-edit), and 2 more, 4 times") {
			t.Errorf("the next boot, another cluster's service and one that is not there: %q", entries)
		}
		if number, err := env.Store.HealsTaken(t.Context(), there.ID, "boot-2"); err != nil || number != 0 {
			t.Errorf("the other cluster's number is %d, %v", number, err)
		}
	})
}
