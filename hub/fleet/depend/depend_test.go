package depend_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// dependent is a service of a folder that waits for others, as CLUSTER/NAME or NAME.
func dependent(cluster, name string, on ...string) fleet.ServiceRequest {
	spec := fleettest.Spec(name)
	for _, one := range on {
		at, of, found := strings.Cut(one, "/")
		if !found {
			at, of = "", one
		}
		spec.Dependencies = append(spec.Dependencies, fleet.Dependency{Name: of, Cluster: at})
	}
	return fleet.ServiceRequest{Ref: fleet.Ref{Cluster: cluster, Name: name}, Spec: spec}
}

func TestServiceOnAnotherClusterIsWaitedFor(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge")
		env.AddCluster("core")
		web := env.Must(env.CreateService(t.Context(), "ann", dependent("edge", "web", "core/db")))
		wants := func(step string, revision int64, why string) {
			t.Helper()
			v := env.Get(web)
			waits := v.Sync == fleet.Pending && v.Reason == fleet.ReasonDependency
			if v.Revision != revision || waits != (why != "") || waits && v.Message != "waits for service core/db, which "+why {
				t.Errorf("%s: revision %d, %s %s: %s; want revision %d, which %q", step, v.Revision, v.Sync, v.Reason, v.Message, revision, why)
			}
		}
		// moved hands over what a report left to do, as the hub's loop does.
		moved := func(step string, want bool) {
			t.Helper()
			ids, err := env.Store.MovedSources(t.Context(), "", 100)
			if err != nil || slices.Contains(ids, web.SourceID) != want {
				t.Errorf("%s: sources to follow are %q, %v", step, ids, err)
			}
			if err := env.Store.Write(t.Context(), func(ctx context.Context) error { return env.Store.FollowedSources(ctx, ids) }); err != nil {
				t.Fatal(err)
			}
			for _, id := range ids {
				env.Tell(id)
			}
		}
		hash := ""
		report := func(v fleet.ServiceView, change func(*fleet.Status)) {
			t.Helper()
			now := fmt.Sprintf("%s+", hash)
			one := fleettest.ReportOf(env.Get(v), hash, now)
			change(&one.Status)
			env.Report(fleet.ReportBatch{ClusterID: v.ClusterID, Reports: []fleet.Report{one}})
			hash = now
		}
		good := func(*fleet.Status) {}

		env.Move(web, 1)
		wants("nobody declared it", 0, "does not exist")
		db := env.AddService("core", "db")
		env.Move(db, 1)
		env.Tell(web.SourceID)
		wants("nothing was reported", 0, "is not applied yet")
		report(db, func(s *fleet.Status) { s.Health = "Progressing" })
		moved("it progresses", false)
		wants("it progresses", 0, "is Progressing")
		report(db, good)
		moved("it is healthy", true)
		wants("it is healthy", 1, "")

		report(db, func(s *fleet.Status) { s.Components = []byte{4} })
		moved("it is as healthy as before", false)
		report(db, func(s *fleet.Status) { s.Health = fleet.Degraded })
		env.Move(web, 2)
		wants("a commit while it is degraded", 1, "is Degraded")
		report(db, good)
		moved("it recovered", true)
		wants("it recovered", 2, "")

		env.Move(db, 2)
		request := dependent("edge", "web", "core/db")
		request.Spec.Configuration = map[string]string{"size": "2"}
		env.Must(firstOf(env.ApplyService(t.Context(), "ann", request)))
		wants("an edit while it has a newer revision", 2, "has a newer revision to apply")
		report(db, func(s *fleet.Status) { s.Sync = fleet.Drifted })
		moved("it is applied, and drifted", true)
		wants("it is applied, and drifted", 3, "")

		// A circle over two clusters, closed by a service that names none.
		env.Must(env.CreateService(t.Context(), "ann", dependent("core", "cache", "edge/web")))
		_, _, err := env.ApplyService(t.Context(), "ann", dependent("core", "db", "cache"))
		if !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), "services would wait for each other: db → cache → edge/web → db") {
			t.Errorf("a circle: %v", err)
		}
	})
}

func firstOf(v fleet.ServiceView, _ fleet.Outcome, err error) (fleet.ServiceView, error) {
	return v, err
}

// Whichever of a declaration and the report that it waits for is last, the service is
// not forgotten.
func TestServiceBecomesReadyWhileItsDependentIsDeclared(t *testing.T) {
	c := fleettest.NewContended(t)
	c.AddCluster("core")
	c.MoveHead("web", "one")
	c.MoveHead("shop", "one")
	shop := c.Must(c.CreateService(t.Context(), "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "core", Name: "shop"}, Spec: fleettest.Spec("shop")}))
	runs, err := c.Overtaken(func(ctx context.Context) error {
		_, err := c.CreateService(ctx, "ann", dependent("edge-1", "web", "core/shop"))
		return err
	}, func() {
		c.Report(fleet.ReportBatch{ClusterID: shop.ClusterID, Reports: []fleet.Report{fleettest.ReportOf(shop, "", "1")}})
	})
	if err != nil || runs != 2 {
		t.Fatalf("%d runs, %v", runs, err)
	}
	c.WantContent("web", "one")
}
