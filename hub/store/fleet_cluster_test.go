package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

func TestClusterDataChangesSpecDigests(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		c := y.cluster("edge-1")
		web := y.service("edge-1", "web")
		y.move(web, 1)
		before := y.get(web)
		ping := func(version string, nodes int) fleet.ServiceView {
			t.Helper()
			if err := y.Ping(t.Context(), c.ID, fleet.ClusterPing{KubernetesVersion: version, Nodes: nodes, AgentVersion: "0.1"}); err != nil {
				t.Fatal(err)
			}
			return y.get(web)
		}
		minor := ping("v1.34.1+k3s1", 1)
		if minor.SpecDigest == before.SpecDigest || minor.Revision != before.Revision {
			t.Errorf("a new minor version left digest %s at revision %d", minor.SpecDigest, minor.Revision)
		}
		if patch := ping("v1.34.2", 5); patch.SpecDigest != minor.SpecDigest {
			t.Error("a patch of Kubernetes or a node changed the spec digest")
		}
		tags := map[string]string{"tier": "prod"}
		if _, err := y.UpdateCluster(t.Context(), "ann", "edge-1", fleet.ClusterChange{Tags: &tags}); err != nil {
			t.Fatal(err)
		}
		if y.get(web).SpecDigest == minor.SpecDigest {
			t.Error("a tag left the spec digest as it was")
		}
		specs, _, err := y.AgentSpecs(t.Context(), c.ID, []string{web.ID})
		if err != nil || specs[0].Cluster.KubernetesMinor != "1.34" || specs[0].Cluster.Tags["tier"] != "prod" || specs[0].Service.SpecDigest != y.get(web).SpecDigest {
			t.Errorf("the agent gets %+v, %v", specs, err)
		}
	})
}

func TestClustersAreRefused(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		y.cluster("edge-1")
		y.service("edge-1", "web")
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
			if _, err := y.CreateCluster(t.Context(), "ann", tc.cluster); !errcode.Is(err, tc.code) {
				t.Errorf("%s: err = %v", name, err)
			}
		}
		wantCode(t, y.DeleteCluster(t.Context(), "ann", "edge-1", false), errcode.Conflict)
		if err := y.DeleteCluster(t.Context(), "ann", "edge-1", true); err != nil {
			t.Fatal(err)
		}
		_, err := y.Cluster(t.Context(), "edge-1")
		wantCode(t, err, errcode.NotFound)
	})
}

func TestANameGivesNoRightToACluster(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		if _, err := y.CreateCluster(t.Context(), "ann", fleet.NewCluster{Name: "edge-1"}); err != nil {
			t.Fatal(err)
		}
		err := y.store.Write(t.Context(), func(ctx context.Context) error {
			_, err := y.Enroll(ctx, identity.Enrollment{Name: "edge-1", ClusterUID: "u"})
			return err
		})
		wantCode(t, err, errcode.Conflict)
	})
}

func TestPendingClustersGetNoSpecs(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		var enrolled identity.Enrolled
		err := y.store.Write(t.Context(), func(ctx context.Context) (err error) {
			enrolled, err = y.Enroll(ctx, identity.Enrollment{Name: "edge-1", ClusterUID: "u", Pending: true})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		web := y.service("edge-1", "web")
		y.move(web, 1)
		want := func(count int) {
			t.Helper()
			specs, missing, err := y.AgentSpecs(t.Context(), enrolled.ClusterID, []string{web.ID})
			if err != nil || len(specs) != count || len(missing) != 1-count {
				t.Errorf("specs %v, missing %v, %v", specs, missing, err)
			}
		}
		want(0)
		if _, err := y.ApproveCluster(t.Context(), "ann", "edge-1"); err != nil {
			t.Fatal(err)
		}
		want(1)
	})
}

func TestServicesAreListedInPages(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		var want []string
		for _, cluster := range []string{"edge-1", "edge-2"} {
			y.cluster(cluster)
			for n := range 3 {
				want = append(want, y.service(cluster, fmt.Sprintf("svc-%d", n)).Ref().String())
			}
		}
		var got []string
		filter := fleet.ServiceFilter{PageSize: 2}
		for {
			page, err := y.Services(t.Context(), filter)
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
		page, err := y.Services(t.Context(), fleet.ServiceFilter{Cluster: "edge-2", Name: "svc-1", Project: "default"})
		if err != nil || len(page.Services) != 1 || page.Services[0].Ref().String() != "edge-2/svc-1" {
			t.Errorf("filtered: %+v, %v", page.Services, err)
		}
		_, err = y.Services(t.Context(), fleet.ServiceFilter{PageToken: "%"})
		wantCode(t, err, errcode.Invalid)
	})
}

func TestProjectsHoldOnToWhatIsInThem(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		if _, err := y.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "shop", Description: "the shop"}); err != nil {
			t.Fatal(err)
		}
		if _, err := y.CreateCluster(t.Context(), "ann", fleet.NewCluster{Name: "edge-1", Project: "shop"}); err != nil {
			t.Fatal(err)
		}
		y.service("edge-1", "web")
		wantCode(t, y.DeleteProject(t.Context(), "ann", "shop"), errcode.Conflict)
		wantCode(t, y.DeleteProject(t.Context(), "ann", "default"), errcode.Conflict)
		projects, err := y.Projects(t.Context())
		if err != nil || len(projects) != 2 {
			t.Fatalf("projects %+v, %v", projects, err)
		}
		if shop := projects[1]; shop.Name != "shop" || shop.Clusters != 1 || shop.Services != 1 {
			t.Errorf("project %+v, %v", shop, err)
		}
		if err := y.DeleteCluster(t.Context(), "ann", "edge-1", true); err != nil {
			t.Fatal(err)
		}
		if err := y.DeleteProject(t.Context(), "ann", "shop"); err != nil {
			t.Fatal(err)
		}
	})
}

func TestClusterByHandle(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		y.cluster("edge-1")
		y.cluster("edge-2")
		handle := "e1"
		if _, err := y.Fleet.UpdateCluster(t.Context(), "me", "edge-1", fleet.ClusterChange{Handle: &handle}); err != nil {
			t.Fatal(err)
		}
		for handle, want := range map[string]string{"e1": "edge-1", "edge-2": "edge-2", "edge-1": ""} {
			got, err := y.Fleet.ClusterByHandle(t.Context(), handle)
			if got.Name != want || errcode.Is(err, errcode.NotFound) != (want == "") {
				t.Errorf("handle %s is %q, %v; want %q", handle, got.Name, err, want)
			}
		}
	})
}
