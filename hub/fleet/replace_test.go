package fleet_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

// What is to be replaced is the machine of one uid, whose management cluster's agent is asked
// until it has reported the end, through restarts of the hub.
func TestAMachineIsReplacedByItsUID(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env, ctx := fleettest.New(t, d), t.Context()
		hosts := env.AddCluster("hosts").ID
		other := env.AddCluster("other").ID
		for _, name := range []string{"shop-1", "shop-2"} {
			if err := made(env, name, "hosts", ""); err != nil {
				t.Fatal(err)
			}
		}
		maker := func() fleet.ServiceView {
			t.Helper()
			v, err := env.Service(ctx, fleet.Ref{Cluster: "hosts", Name: "cluster-shop-1"})
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		asked := func() (uids []string) {
			t.Helper()
			specs, _, err := env.AgentSpecs(ctx, hosts, []string{maker().ID})
			if err != nil || len(specs) != 1 {
				t.Fatal(specs, err)
			}
			for _, r := range specs[0].Replacing {
				uids = append(uids, r.UID+" of "+r.Pool)
			}
			return uids
		}
		report := func(by string, machines []fleet.Machine, how ...fleet.Replaced) {
			t.Helper()
			if err := env.StoreMadeStates(ctx, by, map[string]fleet.MadeState{maker().ID: {Phase: "Provisioned", Machines: machines, MoreMachines: 1, Replaced: how}}); err != nil {
				t.Fatal(err)
			}
			env.Restart()
		}
		get := func() []fleet.Replacement {
			t.Helper()
			c, err := env.ClusterNamed(ctx, "shop-1")
			if err != nil {
				t.Fatal(err)
			}
			return c.Replacing
		}
		replace := func(machine, uid string) error {
			defer env.Restart()
			return env.ReplaceMachine(ctx, "ann", "shop-1", machine, uid)
		}
		machines := []fleet.Machine{{Name: "m-1", UID: "u-1", Pool: "first"}, {Name: "cp-1", UID: "u-2"}, {Name: "old", Pool: "first"}}

		wantText(t, replace("m-1", ""), errcode.NotFound, `reported no machine "m-1" of cluster shop-1`)
		report(hosts, machines)
		wantText(t, replace("m-2", ""), errcode.NotFound, "1 more machines, which are ready, are not in its report")
		wantText(t, replace("m-1", "u-0"), errcode.Conflict, "is another machine by now")
		wantText(t, replace("cp-1", ""), errcode.Unprocessable, "is one of the control plane")
		wantText(t, replace("old", ""), errcode.Unprocessable, "reports no uid of old")
		wantText(t, env.ReplaceMachine(ctx, "ann", "hosts", "m-1", ""), errcode.Unprocessable, "was not made from a template")
		wantText(t, env.ReplaceMachine(ctx, "ann", "shop-2", "m-1", ""), errcode.NotFound, "of cluster shop-2")
		if r, uids := get(), asked(); len(r)+len(uids) != 0 {
			t.Errorf("what was refused is stored: %v, %v", r, uids)
		}

		before := maker().SpecDigest
		for range 2 { // a repeated call changes nothing
			if err := replace("m-1", "u-1"); err != nil {
				t.Fatal(err)
			}
		}
		if uids := asked(); !slices.Equal(uids, []string{"u-1 of first"}) || maker().SpecDigest == before {
			t.Errorf("the agent is asked for %q", uids)
		}
		if r := get(); len(r) != 1 || r[0].Machine != "m-1" || r[0].RequestedBy != "ann" || r[0].RequestedAt == 0 || !r[0].Running() {
			t.Errorf("it is %+v", r)
		}
		// The cluster's other changes leave it, and it them.
		if _, err := env.UpdateCluster(ctx, "ann", "shop-1", fleet.ClusterChange{Tags: &map[string]string{"a": "b"}}); err != nil || len(get()) != 1 {
			t.Errorf("after a change: %v, %v", get(), err)
		}

		// Nobody else reports on it, and nothing else ends it.
		end := fleet.Replaced{UID: "u-1", Done: true}
		report(other, machines, end)
		report(hosts, machines, fleet.Replaced{UID: "u-9", Done: true})
		report(hosts, machines, fleet.Replaced{UID: "u-1", Message: "Pod web/a:\ncannot evict"})
		if r := get()[0]; !r.Running() || r.Message != "Pod web/a: cannot evict" {
			t.Errorf("it is %+v", r)
		}
		asking := maker().SpecDigest
		report(hosts, nil, end)
		if r, uids := get()[0], asked(); r.Running() || r.Refused || len(uids) != 0 || maker().SpecDigest == asking {
			t.Errorf("in the end it is %+v, and the agent is asked for %q", r, uids)
		}
		// A report that is repeated, and another machine of that name, are not it.
		ended := get()[0]
		report(hosts, nil, fleet.Replaced{UID: "u-1", Refused: true})
		if r := get()[0]; r != ended {
			t.Errorf("the end was %+v, and is %+v", ended, r)
		}
		report(hosts, []fleet.Machine{{Name: "m-1", UID: "u-5", Pool: "first"}})
		if uids := asked(); len(uids) != 0 {
			t.Errorf("the agent is asked for %q", uids)
		}
		if err := replace("m-1", ""); err != nil {
			t.Fatal(err)
		}
		if uids := asked(); !slices.Equal(uids, []string{"u-5 of first"}) {
			t.Errorf("the agent is asked for %q", uids)
		}
		report(hosts, machines, fleet.Replaced{UID: "u-5", Refused: true, Message: "no MachineSet"})
		if r := get(); len(r) != 2 || !r[1].Refused || r[1].Running() {
			t.Errorf("refused, it is %+v", r)
		}

		// So many at the same time, and the last that ended are kept.
		machines = nil
		var reports []fleet.Replaced
		for i := range 45 {
			machines = append(machines, fleet.Machine{Name: fmt.Sprint("n-", i), UID: fmt.Sprint("n-", i), Pool: "first"})
		}
		report(hosts, machines)
		for i := range 20 {
			if err := replace(fmt.Sprint("n-", i), ""); err != nil {
				t.Fatal(err)
			}
			reports = append(reports, fleet.Replaced{UID: fmt.Sprint("n-", i), Done: true})
		}
		wantText(t, replace("n-20", ""), errcode.Conflict, "20 machines of cluster shop-1 are being replaced")
		report(hosts, machines, reports...)
		for i := range 20 {
			if err := replace(fmt.Sprint("n-", 20+i), ""); err != nil {
				t.Fatal(err)
			}
		}
		if r := get(); len(r) != 30 || r[9].Machine != "n-19" || r[29].Machine != "n-39" || len(asked()) != 20 {
			t.Errorf("of 42 replacements there are %d, the first is of %s", len(r), r[0].Machine)
		}
		if _, err := env.DestroyCluster(ctx, "ann", "shop-1", true); err != nil {
			t.Fatal(err)
		}
		wantText(t, replace("n-41", ""), errcode.Conflict, "is being destroyed")
	})
}
