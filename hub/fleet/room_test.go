package fleet_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

// atOnce makes so many at the same time, and returns how many were made. The others have no
// room, and their errors the words.
func atOnce(t *testing.T, tries int, one func(n int) error, words ...string) (made int) {
	t.Helper()
	var all sync.WaitGroup
	results := make(chan error, tries)
	for n := range tries {
		all.Go(func() { results <- one(n) })
	}
	all.Wait()
	close(results)
	for err := range results {
		if err == nil {
			made++
		} else {
			wantFull(t, err, words...)
		}
	}
	return made
}

// wantFull checks that an error names the project, the limit and what is used.
func wantFull(t *testing.T, err error, parts ...string) {
	t.Helper()
	fleettest.WantCode(t, err, errcode.Forbidden)
	for _, part := range parts {
		if err != nil && !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
}

func quota(env *fleettest.Fleet, name string, l fleet.Limits) {
	env.T.Helper()
	if _, err := env.CreateProject(env.T.Context(), "ann", fleet.NewProject{Name: name, Limits: l}); err != nil {
		env.T.Fatal(err)
	}
}

// A project has as many services as its limit says, however they come, and by whom at once.
func TestServicesOfAProjectAreCounted(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		quota(env, "shop", fleet.Limits{Services: 3})
		env.AddCluster("edge-1")
		in := func(name, project string) fleet.ServiceRequest {
			return fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: name}, Spec: fleettest.Spec("web"), Project: project}
		}
		n := atOnce(t, 8, func(n int) error {
			_, err := env.CreateService(t.Context(), "ann", in(fmt.Sprintf("web-%d", n), "shop"))
			return err
		}, "project shop", "3 services", "limit is 3", "--max-services")
		if n != 3 {
			t.Errorf("%d services were made at once", n)
		}
		// A service that moves counts as well; one that is changed does not count twice.
		other := env.AddService("edge-1", "other")
		_, _, err := env.ApplyService(t.Context(), "ann", in("other", "shop"))
		wantFull(t, err)
		if v := env.Get(other); v.Project != "default" {
			t.Errorf("it is in the project %s", v.Project)
		}
		limit(env, "shop", fleet.Limits{Services: 1})
		for n := range 8 {
			name := fmt.Sprintf("web-%d", n)
			if _, err := env.Service(t.Context(), fleet.Ref{Cluster: "edge-1", Name: name}); err == nil {
				r := in(name, "shop")
				r.Spec.Protect = true
				if _, _, err := env.ApplyService(t.Context(), "ann", r); err != nil {
					t.Errorf("%s existed before: %v", name, err)
				}
			}
		}
		limit(env, "shop", fleet.Limits{})
		env.Must(env.CreateService(t.Context(), "ann", in("one-more", "shop")))
	})
}

// Clusters count whether a person creates them, an agent registers them or they move.
func TestClustersOfAProjectAreCounted(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		quota(env, "shop", fleet.Limits{Clusters: 2})
		shop, err := env.Project(t.Context(), "shop")
		if err != nil {
			t.Fatal(err)
		}
		n := atOnce(t, 5, func(n int) error {
			_, err := env.CreateCluster(t.Context(), "ann", fleet.NewCluster{Name: fmt.Sprintf("edge-%d", n), Project: "shop"})
			return err
		}, "project shop", "2 clusters", "limit is 2", "--max-clusters")
		if n != 2 {
			t.Errorf("%d clusters were made at once", n)
		}
		err = env.Store.Write(t.Context(), func(ctx context.Context) error {
			_, err := env.Enroll(ctx, agentkey.Enrollment{Name: "late", ProjectID: shop.ID, ClusterUID: "uid-late"})
			return err
		})
		wantFull(t, err)
		env.AddCluster("elsewhere")
		_, err = env.MoveCluster(t.Context(), "ann", fleet.ClusterMove{Name: "elsewhere", Project: "shop", Confirm: true, Also: func(context.Context, fleet.Cluster, fleet.Cluster) ([]fleet.MoveChange, error) {
			return nil, nil
		}})
		wantFull(t, err)
	})
}

func TestNumbersOfLimitsAreNotNegative(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		_, err := env.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "shop", Limits: fleet.Limits{Previews: -1}})
		fleettest.WantCode(t, err, errcode.Invalid)
	})
}
