package fleet_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

// The machines of a cluster stay until its own agent has reported that nothing is left at the
// provider, or until somebody forces it. Every step is in the database.
func TestACleanupComesBeforeTheMachines(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env, ctx := fleettest.New(t, d), t.Context()
		env.AddCluster("hosts")
		for _, name := range []string{"shop-1", "shop-2", "shop-3", "shop-4"} {
			if err := made(env, name, "hosts", ""); err != nil {
				t.Fatal(err)
			}
			if c, err := env.ClusterNamed(ctx, name); err != nil {
				t.Fatal(err)
			} else if name != "shop-3" {
				env.EnrollCluster(c.ID)
			}
		}
		drained := func(name string) bool {
			t.Helper()
			s, err := env.Service(ctx, fleet.Ref{Cluster: "hosts", Name: "cluster-" + name})
			if err != nil {
				t.Fatal(err)
			}
			return s.Deleting == fleet.Drain
		}
		get := func(name string) fleet.Cluster {
			t.Helper()
			c, err := env.ClusterNamed(ctx, name)
			if err != nil {
				t.Fatal(err)
			}
			row, err := env.LoadCluster(ctx, c.ID)
			if err != nil || row.Destroying != c.Origin.Destroying {
				t.Errorf("of %s the list has %+v: %v", name, row, err)
			}
			return c
		}
		destroy := func(name string, force bool) {
			t.Helper()
			if _, err := env.DestroyCluster(ctx, "ann", name, force); err != nil {
				t.Fatal(err)
			}
			env.Restart()
		}
		report := func(name string, r fleet.Cleanup, done bool) {
			t.Helper()
			if err := env.StoreCleanup(ctx, get(name).ID, r, done); err != nil {
				t.Fatal(err)
			}
			env.Restart()
		}
		left := fleet.Cleanup{Left: []fleet.Leftover{{Kind: "Service", Namespace: "web", Name: "front", Message: "waits for\na\x1b finalizer", Since: 7}}, StartedAt: 1, EndedAt: 1, Forced: true}

		// What a cluster reports that is not being destroyed changes nothing.
		report("shop-1", left, true)
		if c := get("shop-1"); c.Cleanup != nil || drained("shop-1") {
			t.Errorf("a report alone made it %+v", c.Cleanup)
		}
		destroy("shop-1", false)
		destroy("shop-1", false) // a repeated call changes nothing
		if c := get("shop-1"); !c.Origin.Destroying || !c.Cleanup.Running() || drained("shop-1") {
			t.Fatalf("it began with %+v", c)
		}
		for i := range 100 {
			left.Left = append(left.Left, fleet.Leftover{Kind: "Ingress", Name: fmt.Sprint(i), Message: strings.Repeat("x", 9000)})
		}
		report("shop-1", left, false)
		c := get("shop-1").Cleanup
		if !c.Running() || c.StartedAt == 1 || c.Forced || c.ReportedAt == 0 || len(c.Left) != 50 || c.More != 51 || c.Left[0].Name != "front" || strings.ContainsAny(c.Left[0].Message, "\n\x1b") || len(c.Left[1].Message) > 510 || drained("shop-1") {
			t.Errorf("it is %+v", c)
		}
		// Nobody else's report, and none that was forgotten.
		if err := env.StoreCleanup(ctx, "cl-none", left, true); !errcode.Is(err, errcode.NotFound) {
			t.Errorf("of no cluster: %v", err)
		}
		report("shop-2", fleet.Cleanup{}, true)
		if drained("shop-1") || drained("shop-2") {
			t.Error("another cluster's report removes machines")
		}
		report("shop-1", fleet.Cleanup{}, true)
		if c := get("shop-1").Cleanup; c.Running() || c.EndedAt == 0 || len(c.Left) > 0 || c.Forced || !drained("shop-1") {
			t.Errorf("at its end it is %+v", c)
		}
		report("shop-1", left, false) // a report that comes late
		if c := get("shop-1").Cleanup; len(c.Left) > 0 {
			t.Errorf("a late report made it %+v", c)
		}

		// Somebody ends it with what is left, which stays to be seen.
		destroy("shop-2", false)
		report("shop-2", left, false)
		destroy("shop-2", true)
		if c := get("shop-2").Cleanup; c.Running() || !c.Forced || len(c.Left) != 50 || !drained("shop-2") {
			t.Errorf("forced, it is %+v", c)
		}
		// One that never had an agent has nobody to ask, and one that is forced waits for none.
		destroy("shop-3", false)
		destroy("shop-4", true)
		for _, name := range []string{"shop-3", "shop-4"} {
			if c := get(name); c.Cleanup.Running() || !c.Origin.Destroying || !drained(name) {
				t.Errorf("%s is %+v", name, c)
			}
		}
	})
}
