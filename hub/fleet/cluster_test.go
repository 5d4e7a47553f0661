package fleet_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/fleet/installed"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

func TestClusterDataChangesSpecDigests(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		c := env.AddCluster("edge-1")
		web := env.AddService("edge-1", "web")
		env.Move(web, 1)
		before := env.Get(web)
		ping := func(version string, nodes int) fleet.ServiceView {
			t.Helper()
			if err := env.Ping(t.Context(), c.ID, fleet.ClusterPing{KubernetesVersion: version, Nodes: nodes, AgentVersion: "0.1"}); err != nil {
				t.Fatal(err)
			}
			return env.Get(web)
		}
		minor := ping("v1.34.1+k3s1", 1)
		if minor.SpecDigest == before.SpecDigest || minor.Revision != before.Revision {
			t.Errorf("a new minor version left digest %s at revision %d", minor.SpecDigest, minor.Revision)
		}
		if patch := ping("v1.34.2", 5); patch.SpecDigest != minor.SpecDigest {
			t.Error("a patch of Kubernetes or a node changed the spec digest")
		}
		tags := map[string]string{"tier": "prod"}
		if _, err := env.UpdateCluster(t.Context(), "ann", "edge-1", fleet.ClusterChange{Tags: &tags, FleetWide: true}); err != nil {
			t.Fatal(err)
		}
		if env.Get(web).SpecDigest == minor.SpecDigest {
			t.Error("a tag left the spec digest as it was")
		}
		specs, _, err := env.AgentSpecs(t.Context(), c.ID, []string{web.ID})
		if err != nil || specs[0].Cluster.KubernetesMinor != "1.34" || specs[0].Cluster.Tags["tier"] != "prod" || specs[0].Service.SpecDigest != env.Get(web).SpecDigest {
			t.Errorf("the agent gets %+v, %v", specs, err)
		}
	})
}

// Whoever moves a hub, or changes the flags of an agent, sees when the hub knows them.
func TestFlagsOfAnAgentAreToldOnceTheyChange(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		c := env.AddCluster("edge-1")
		for _, args := range [][]string{
			{"run", "--hub-url=https://old.test", "--poll-interval=1s"},
			{"run", "--hub-url=https://old.test", "--poll-interval=1s"},
			{"run", "--hub-url=https://new.test", "--poll-interval=2s", "--quiet"},
		} {
			if err := env.Ping(t.Context(), c.ID, fleet.ClusterPing{Installation: installed.Agent{Namespace: "axle-system", Args: args}}); err != nil {
				t.Fatal(err)
			}
		}
		var told []string
		for _, e := range env.Events("") {
			if e.Kind == "cluster.flags_changed" {
				told = append(told, e.By+": "+e.Message)
			}
		}
		if want := []string{"agent edge-1: --poll-interval, --hub-url=https://new.test, --quiet"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}

// An agent could report other flags at each ping; the log of events is everybody's.
func TestFlagsThatChangeAtEachPingAreToldARareTime(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		c := env.AddCluster("edge-1")
		seconds := 0
		told := func(pings int) (n int) {
			t.Helper()
			for range pings {
				seconds++
				args := []string{"run", "--hub-url=https://hub.test", fmt.Sprintf("--poll-interval=%ds", seconds)}
				if err := env.Ping(t.Context(), c.ID, fleet.ClusterPing{Installation: installed.Agent{Namespace: "axle-system", Args: args}}); err != nil {
					t.Fatal(err)
				}
			}
			for _, e := range env.Events("") {
				if e.Kind == "cluster.flags_changed" {
					n++
				}
			}
			return n
		}
		if n := told(51); n != 5 {
			t.Errorf("50 changes made %d events, want 5", n)
		}
		env.Clock.Advance(20 * time.Minute)
		if n := told(10); n != 7 {
			t.Errorf("%d events after 20 minutes, want 2 more", n)
		}
		if cluster, err := env.Cluster(t.Context(), "edge-1"); err != nil || !slices.Contains(cluster.Installation.Args, "--poll-interval=61s") {
			t.Errorf("the cluster has %+v, %v", cluster.Installation, err)
		}
	})
}

func TestClustersAreRefused(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		env.AddService("edge-1", "web")
		for name, tc := range map[string]struct {
			cluster fleet.NewCluster
			code    errcode.Code
		}{
			"twice":           {fleet.NewCluster{Name: "edge-1"}, errcode.Conflict},
			"handle twice":    {fleet.NewCluster{Name: "edge-2", Handle: "edge-1"}, errcode.Conflict},
			"upper case":      {fleet.NewCluster{Name: "Edge"}, errcode.Invalid},
			"unknown project": {fleet.NewCluster{Name: "edge-2", Project: "shop"}, errcode.NotFound},
			"metadata":        {fleet.NewCluster{Name: "edge-2", Metadata: "[1]"}, errcode.Invalid},
		} {
			if _, err := env.CreateCluster(t.Context(), "ann", tc.cluster); !errcode.Is(err, tc.code) {
				t.Errorf("%s: err = %v", name, err)
			}
		}
		fleettest.WantCode(t, env.DeleteCluster(t.Context(), "ann", "edge-1", false), errcode.Conflict)
		if err := env.DeleteCluster(t.Context(), "ann", "edge-1", true); err != nil {
			t.Fatal(err)
		}
		_, err := env.Cluster(t.Context(), "edge-1")
		fleettest.WantCode(t, err, errcode.NotFound)
	})
}

func TestANameGivesNoRightToACluster(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		if _, err := env.CreateCluster(t.Context(), "ann", fleet.NewCluster{Name: "edge-1"}); err != nil {
			t.Fatal(err)
		}
		err := env.Store.Write(t.Context(), func(ctx context.Context) error {
			_, err := env.Enroll(ctx, agentkey.Enrollment{Name: "edge-1", ClusterUID: "u"})
			return err
		})
		fleettest.WantCode(t, err, errcode.Conflict)
	})
}

func TestPendingClustersGetNoSpecs(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		var enrolled agentkey.Enrolled
		err := env.Store.Write(t.Context(), func(ctx context.Context) (err error) {
			enrolled, err = env.Enroll(ctx, agentkey.Enrollment{Name: "edge-1", ClusterUID: "u", Pending: true})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		web := env.AddService("edge-1", "web")
		env.Move(web, 1)
		want := func(count int) {
			t.Helper()
			specs, missing, err := env.AgentSpecs(t.Context(), enrolled.ClusterID, []string{web.ID})
			if err != nil || len(specs) != count || len(missing) != 1-count {
				t.Errorf("specs %v, missing %v, %v", specs, missing, err)
			}
		}
		want(0)
		if _, err := env.ApproveCluster(t.Context(), "ann", "edge-1"); err != nil {
			t.Fatal(err)
		}
		want(1)
	})
}

func TestServicesAreListedInPages(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		var want []string
		for _, cluster := range []string{"edge-1", "edge-2"} {
			env.AddCluster(cluster)
			for n := range 3 {
				want = append(want, env.AddService(cluster, fmt.Sprintf("svc-%d", n)).Ref().String())
			}
		}
		var got []string
		filter := fleet.ServiceFilter{PageSize: 2}
		for {
			page, err := env.Services(t.Context(), filter)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range page.Services {
				got = append(got, v.Ref().String())
			}
			if filter.PageToken = page.NextPageToken; filter.PageToken == "" {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pages (-want +got):\n%s", diff)
		}
		page, err := env.Services(t.Context(), fleet.ServiceFilter{Cluster: "edge-2", Name: "svc-1", Project: "default"})
		if err != nil || len(page.Services) != 1 || page.Services[0].Ref().String() != "edge-2/svc-1" {
			t.Errorf("filtered: %+v, %v", page.Services, err)
		}
		_, err = env.Services(t.Context(), fleet.ServiceFilter{PageToken: "%"})
		fleettest.WantCode(t, err, errcode.Invalid)
	})
}

func TestProjectsHoldOnToWhatIsInThem(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		if _, err := env.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "shop", Description: "the shop"}); err != nil {
			t.Fatal(err)
		}
		if _, err := env.CreateCluster(t.Context(), "ann", fleet.NewCluster{Name: "edge-1", Project: "shop"}); err != nil {
			t.Fatal(err)
		}
		env.AddService("edge-1", "web")
		fleettest.WantCode(t, env.DeleteProject(t.Context(), "ann", "shop"), errcode.Conflict)
		fleettest.WantCode(t, env.DeleteProject(t.Context(), "ann", "default"), errcode.Conflict)
		projects, err := env.Projects(t.Context())
		if err != nil || len(projects) != 2 {
			t.Fatalf("projects %+v, %v", projects, err)
		}
		if shop := projects[1]; shop.Name != "shop" || shop.Clusters != 1 || shop.Services != 1 {
			t.Errorf("project %+v, %v", shop, err)
		}
		if err := env.DeleteCluster(t.Context(), "ann", "edge-1", true); err != nil {
			t.Fatal(err)
		}
		if err := env.DeleteProject(t.Context(), "ann", "shop"); err != nil {
			t.Fatal(err)
		}
	})
}

func TestClusterByHandle(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		env.AddCluster("edge-2")
		handle := "e1"
		if _, err := env.Fleet.UpdateCluster(t.Context(), "me", "edge-1", fleet.ClusterChange{Handle: &handle}); err != nil {
			t.Fatal(err)
		}
		for handle, want := range map[string]string{"e1": "edge-1", "edge-2": "edge-2", "edge-1": ""} {
			got, err := env.Fleet.ClusterByHandle(t.Context(), handle)
			if got.Name != want || errcode.Is(err, errcode.NotFound) != (want == "") {
				t.Errorf("handle %s is %q, %v; want %q", handle, got.Name, err, want)
			}
		}
	})
}
