package fleet_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/store/storetest"
)

// A cluster shows the text of each check of its template that does not hold for what its
// management cluster reports, and for its variables.
func TestChecksAreEvaluatedOverTheState(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env, ctx := fleettest.New(t, d), t.Context()
		hosts, err := env.CreateCluster(ctx, "ann", fleet.NewCluster{Name: "hosts"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := env.MakeCluster(ctx, "ann", fleet.MadeCluster{
			NewCluster: fleet.NewCluster{Name: "shop-1"}, ManagementID: hosts.ID,
			Origin: fleet.Origin{
				TemplateID: "ctp_a", Template: "eks", Commit: "c", Version: "v1.37.0", Variables: `{"least": 3}`,
				Checks: `[{"name": "available", "expression": "has(status.conditions) && status.conditions.exists(c, c.type == \"Available\" && c.status == \"True\")", "message": "It is not available."},
					{"name": "workers", "expression": "status.workers.readyReplicas >= variables.least", "message": "There are too few workers."},
					{"name": "broken", "expression": "status.phase == 'Failed' ? status.none : true", "message": "It failed."}]`,
			},
			Builtin: fleet.Builtin{Name: "cluster-shop-1", Namespace: "cluster-shop-1", Version: "c", Digest: "axle1:" + strings.Repeat("a", 64), Size: 9, Contained: true},
		}); err != nil {
			t.Fatal(err)
		}
		service, err := env.Service(ctx, fleet.Ref{Cluster: "hosts", Name: "cluster-shop-1"})
		if err != nil {
			t.Fatal(err)
		}
		report := func(s fleet.MadeState, want ...string) {
			t.Helper()
			s.Unmet = []string{"an agent has no say in this"}
			if err := env.StoreMadeStates(ctx, hosts.ID, map[string]fleet.MadeState{service.ID: s}); err != nil {
				t.Fatal(err)
			}
			c, err := env.ClusterNamed(ctx, "shop-1")
			if err != nil || !slices.EqualFunc(c.MadeState.Unmet, want, strings.HasPrefix) {
				t.Errorf("in %s: %q, want %q: %v", s.Phase, c.MadeState.Unmet, want, err)
			}
		}
		available := []fleet.MadeCondition{{Type: "Available", Status: "True"}}
		few := []fleet.Machines{{Name: "a", Ready: 1}, {Name: "b", Ready: 1}}
		report(fleet.MadeState{Phase: "Provisioning"}, "It is not available. (check available of the template)", "There are too few workers. (check workers of the template)")
		report(fleet.MadeState{Phase: "Provisioned", Conditions: available, Pools: few}, "There are too few workers. (check workers of the template)")
		report(fleet.MadeState{Phase: "Provisioned", Conditions: available, Pools: append(few, fleet.Machines{Name: "c", Ready: 1})})
		report(fleet.MadeState{Phase: "Failed", Conditions: available, Pools: append(few, few...)}, "It failed. (check broken of the template); it cannot be evaluated: ")
	})
}
