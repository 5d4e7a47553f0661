package fleet_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

// made makes a cluster of a template on a management cluster.
func made(env *fleettest.Fleet, name, on, project string) error {
	env.T.Helper()
	return madeAt(env, name, on, project, "cluster-"+name)
}

// madeAt is made with the name of the service and of its namespace.
func madeAt(env *fleettest.Fleet, name, on, project, place string) error {
	env.T.Helper()
	management, err := env.ClusterNamed(env.T.Context(), on)
	if err != nil {
		return err
	}
	_, err = env.MakeCluster(env.T.Context(), "ann", fleet.MadeCluster{
		NewCluster: fleet.NewCluster{Name: name, Project: project}, ManagementID: management.ID,
		Origin:  fleet.Origin{TemplateID: "ctp_a", Template: "eks", Commit: "c", Version: "v1.37.0", Variables: "{}"},
		Builtin: fleet.Builtin{Name: place, Namespace: place, Version: "c", Digest: "axle1:" + strings.Repeat("a", 64), Size: 9, Contained: true},
	})
	return err
}

// wantText checks that an error says something.
func wantText(t *testing.T, err error, code errcode.Code, text string) {
	t.Helper()
	fleettest.WantCode(t, err, code)
	if err != nil && !strings.Contains(err.Error(), text) {
		t.Errorf("%q lacks %q", err, text)
	}
}

// A management cluster stays while it holds clusters, and one of these is only destroyed when
// nothing on it is protected. Its service and its row go in this order, once.
func TestClustersOfTemplatesGoInOrder(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env, ctx := fleettest.New(t, d), t.Context()
		quota(env, "shop", fleet.Limits{Clusters: 1})
		if _, err := env.CreateCluster(ctx, "ann", fleet.NewCluster{Name: "hosts"}); err != nil { // without an agent
			t.Fatal(err)
		}
		if err := made(env, "shop-1", "hosts", "shop"); err != nil {
			t.Fatal(err)
		}
		wantFull(t, made(env, "shop-2", "hosts", "shop"), "project shop", "1 clusters", "--max-clusters")
		if _, err := env.Service(ctx, fleet.Ref{Cluster: "hosts", Name: "cluster-shop-2"}); !errcode.Is(err, errcode.NotFound) {
			t.Errorf("the cluster that was refused left a service: %v", err)
		}
		wantText(t, env.DeleteCluster(ctx, "ann", "hosts", true), errcode.Conflict, "holds the objects of 1 clusters that were made from templates (shop-1)")
		wantText(t, env.DeleteCluster(ctx, "ann", "shop-1", false), errcode.Conflict, "axle clusters destroy shop-1")
		_, err := env.DestroyCluster(ctx, "ann", "hosts", false)
		wantText(t, err, errcode.Unprocessable, "was not made from a template")

		spec := fleettest.Spec("web")
		spec.Protect = true
		env.Must(env.CreateService(ctx, "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "shop-1", Name: "web"}, Spec: spec, Project: "shop"}))
		_, err = env.DestroyCluster(ctx, "ann", "shop-1", false)
		wantText(t, err, errcode.Conflict, "service shop-1/web is protected")
		spec.Protect = false
		if _, _, err := env.ApplyService(ctx, "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "shop-1", Name: "web"}, Spec: spec, Project: "shop"}); err != nil {
			t.Fatal(err)
		}
		for range 2 { // a repeated call changes nothing
			c, err := env.DestroyCluster(ctx, "ann", "shop-1", false)
			if err != nil || !c.Origin.Destroying {
				t.Fatalf("%v, %v", c.Origin, err)
			}
		}
		wantText(t, made(env, "shop-3", "shop-1", ""), errcode.Conflict, "is being destroyed")

		env.Restart() // the next process finds what goes in the database
		gone, going, err := env.Destroyed(ctx)
		if err != nil || len(gone) != 1 || going != 0 || gone[0].Name != "shop-1" {
			t.Fatalf("of a management cluster without an agent %v are gone and %d go: %v", gone, going, err)
		}
		if err := env.ForgetDestroyed(ctx, gone[0].ID); err != nil {
			t.Fatal(err)
		}
		fleettest.WantCode(t, env.ForgetDestroyed(ctx, gone[0].ID), errcode.NotFound)
		if gone, going, err = env.Destroyed(ctx); err != nil || len(gone)+going != 0 {
			t.Errorf("%v are gone and %d go: %v", gone, going, err)
		}
		if err := env.DeleteCluster(ctx, "ann", "hosts", true); err != nil {
			t.Errorf("a management cluster that holds nothing: %v", err)
		}
	})
}

// What a management cluster reports about a cluster that it makes is stored, bounded, and
// nobody else reports about it.
func TestStatesOfMadeClustersAreTheirManagementClusters(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env, ctx := fleettest.New(t, d), t.Context()
		ids := map[string]string{}
		for _, name := range []string{"hosts", "other"} {
			c, err := env.CreateCluster(ctx, "ann", fleet.NewCluster{Name: name})
			if err != nil {
				t.Fatal(err)
			}
			ids[name] = c.ID
		}
		if err := made(env, "shop-1", "hosts", ""); err != nil {
			t.Fatal(err)
		}
		service, err := env.Service(ctx, fleet.Ref{Cluster: "hosts", Name: "cluster-shop-1"})
		if err != nil {
			t.Fatal(err)
		}
		now := func() fleet.MadeState {
			t.Helper()
			c, err := env.ClusterNamed(ctx, "shop-1")
			if err != nil {
				t.Fatal(err)
			}
			return c.MadeState
		}
		long := strings.Repeat("x", 5000)
		state := fleet.MadeState{
			Phase: "Provisioning", ControlPlane: fleet.Machines{Desired: 3, Ready: 1, Versions: []string{"v1.37.0"}}, Message: long,
			Conditions: []fleet.MadeCondition{{Type: "Available", Status: "False", Reason: "NotAvailable", Message: "two\x1b[31m\nlines", Since: 7}},
		}
		for i := range 200 {
			state.Machines = append(state.Machines, fleet.Machine{Name: fmt.Sprint("m", i), UID: long, Message: long, CreatedAt: 7})
			state.Pools = append(state.Pools, fleet.Machines{Name: long, Phase: "Running", Desired: 2})
		}
		for _, by := range []string{"other", "shop-1"} {
			if err := env.StoreMadeStates(ctx, ids[by], map[string]fleet.MadeState{service.ID: state, "svc-none": state}); err != nil || now().Phase != "" {
				t.Errorf("%s reported %v, %v", by, now(), err)
			}
		}
		if err := env.StoreMadeStates(ctx, ids["hosts"], map[string]fleet.MadeState{service.ID: state, "svc-none": state}); err != nil {
			t.Fatal(err)
		}
		have := now()
		if have.Phase != "Provisioning" || have.ControlPlane.Ready != 1 || len(have.Pools) != 50 || len(have.Pools[0].Name) > 110 || len(have.Message) > 510 || have.ReportedAt == 0 {
			t.Errorf("it is %+v", have)
		}
		if m := have.Machines; len(m) != 100 || have.MoreMachines != 100 || m[0].Name != "m0" || len(m[0].UID) > 110 || len(m[0].Message) > 510 || m[0].CreatedAt != 7 {
			t.Errorf("of its machines it has %d and %d more: %+v", len(m), have.MoreMachines, m[0])
		}
		if c := have.Conditions[0]; strings.ContainsAny(c.Message, "\x1b\n") || c.Since != 7 {
			t.Errorf("the condition is %+v", c)
		}
		// The same again is no change.
		if err := env.StoreMadeStates(ctx, ids["hosts"], map[string]fleet.MadeState{service.ID: state}); err != nil || now().ReportedAt != have.ReportedAt {
			t.Errorf("the same again: %v, %d instead of %d", err, now().ReportedAt, have.ReportedAt)
		}
		many := map[string]fleet.MadeState{}
		for i := range 101 {
			many[strings.Repeat("a", i+1)] = state
		}
		fleettest.WantCode(t, env.StoreMadeStates(ctx, ids["hosts"], many), errcode.Invalid)
		// What people change leaves it.
		if _, err := env.UpdateCluster(ctx, "ann", "shop-1", fleet.ClusterChange{Tags: &map[string]string{"a": "b"}}); err != nil || now().Phase != "Provisioning" {
			t.Errorf("after a change: %v, %v", now(), err)
		}
	})
}

// Of clusters of one name one is made, and none leaves a service behind, whoever is first.
func TestClustersOfOneNameAreOne(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env, ctx := fleettest.New(t, d), t.Context()
		for _, name := range []string{"hosts", "taken"} {
			if _, err := env.CreateCluster(ctx, "ann", fleet.NewCluster{Name: name}); err != nil {
				t.Fatal(err)
			}
		}
		fleettest.WantCode(t, made(env, "taken", "hosts", ""), errcode.Conflict)
		var all sync.WaitGroup
		errs := make([]error, 6)
		for n := range errs {
			all.Go(func() { errs[n] = madeAt(env, "shop-1", "hosts", "", fmt.Sprintf("cluster-shop-1-%d", n)) })
		}
		all.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else {
				fleettest.WantCode(t, err, errcode.Conflict)
			}
		}
		page, err := env.Services(ctx, fleet.ServiceFilter{Cluster: "hosts", PageSize: 10})
		if err != nil || won != 1 || len(page.Services) != 1 {
			t.Fatalf("%d were made, with %d services: %v", won, len(page.Services), err)
		}
		c, err := env.ClusterNamed(ctx, "shop-1")
		if err != nil || c.Origin.Service != page.Services[0].Name || c.Origin.Namespace != page.Services[0].Spec.Namespace {
			t.Errorf("the cluster is of %s in %s, and the service is %s: %v", c.Origin.Service, c.Origin.Namespace, page.Services[0].Name, err)
		}
	})
}

// The machines of a project's clusters together are as many as its limit says, when a cluster
// is made, changed or moved; of those that ask at once, and never for fewer.
func TestMachinesOfAProjectAreCounted(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env, ctx := fleettest.New(t, d), t.Context()
		quota(env, "shop", fleet.Limits{Machines: 5})
		quota(env, "lab", fleet.Limits{})
		hosts, err := env.CreateCluster(ctx, "ann", fleet.NewCluster{Name: "hosts"})
		if err != nil {
			t.Fatal(err)
		}
		origin := func(nodes int) fleet.Origin {
			return fleet.Origin{TemplateID: "ctp_a", Template: "eks", Commit: "c", Version: "v1.37.0", Variables: fmt.Sprintf(`{"controlPlaneCount": 1, "nodePools": [{"count": %d}]}`, nodes)}
		}
		service := func(name string) fleet.Builtin {
			return fleet.Builtin{Name: "cluster-" + name, Namespace: "cluster-" + name, Version: "c", Digest: "axle1:" + strings.Repeat("a", 64), Size: 9, Contained: true}
		}
		makes := func(name, project string, nodes int) error {
			_, err := env.MakeCluster(ctx, "ann", fleet.MadeCluster{NewCluster: fleet.NewCluster{Name: name, Project: project}, ManagementID: hosts.ID, Origin: origin(nodes), Builtin: service(name)})
			return err
		}
		words := []string{"project shop has", "its limit is 5", "--max-machines"}
		if n := atOnce(t, 6, func(n int) error { return makes(fmt.Sprintf("shop-%d", n), "shop", 1) }, words...); n != 2 {
			t.Errorf("%d clusters of 2 machines were made at once", n)
		}
		var mine string
		all, err := env.Clusters(ctx, fleet.ClusterFilter{Project: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			mine = c.Name
		}
		changes := func(nodes int) error {
			c, err := env.ClusterNamed(ctx, mine)
			if err != nil {
				return err
			}
			after := c.Origin
			after.Variables = origin(nodes).Variables
			return env.RemakeCluster(ctx, "ann", mine, fleet.Remade{Before: c.Origin, After: after, Builtin: service(mine), Also: func(context.Context, fleet.Cluster) error { return nil }})
		}
		wantFull(t, changes(3), "project shop has 4 machines", "2 more")
		if err := cmp.Or(changes(2), changes(0), changes(1)); err != nil {
			t.Error(err)
		}
		if err := makes("lab-1", "lab", 40); err != nil {
			t.Fatal(err)
		}
		_, err = env.MoveCluster(ctx, "ann", fleet.ClusterMove{Name: "lab-1", Project: "shop", Confirm: true})
		wantFull(t, err, "project shop has 4 machines", "41 more")
		// Whoever read the cluster before changes nothing.
		c, err := env.ClusterNamed(ctx, mine)
		if err != nil {
			t.Fatal(err)
		}
		stale := c.Origin
		stale.Commit = "before"
		wantText(t, env.RemakeCluster(ctx, "ann", mine, fleet.Remade{Before: stale, After: stale, Builtin: service(mine), Also: func(context.Context, fleet.Cluster) error { return nil }}), errcode.Conflict, "changed meanwhile")
	})
}
