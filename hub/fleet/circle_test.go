package fleet_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

const plural = "deployments.plural.sh"

// A service that applied, itself or through a service that it applied, the custom resource
// of what it uses is not deleted with its objects: each would wait for the other. The
// error says the way out, which goes.
func TestServiceThatWouldWaitForItself(t *testing.T) {
	repository := fleet.Object{Group: plural, Kind: "GitRepository", Name: "main"}
	child := fleet.Object{Group: plural, Kind: "ServiceDeployment", Namespace: "axle", Name: "child"}
	for name, c := range map[string]struct {
		applied, below []fleet.Object
		// manager is that of the repository.
		manager managed.Manager
		child   func(*fleet.Spec)
		refused bool
	}{
		"its repository":                  {applied: []fleet.Object{repository}, refused: true},
		"through a service":               {applied: []fleet.Object{child}, below: []fleet.Object{child, repository}, refused: true},
		"through one that keeps its own":  {applied: []fleet.Object{child}, below: []fleet.Object{repository}, child: func(s *fleet.Spec) { s.Detach = true }},
		"another repository":              {applied: []fleet.Object{{Group: plural, Kind: "GitRepository", Name: "other"}, child}},
		"the repository of people":        {applied: []fleet.Object{repository}, manager: managed.Manager{Tool: managed.CLI}},
		"the resource of another cluster": {applied: []fleet.Object{repository}, manager: managed.Manager{Tool: managed.Operator, ID: "uid-other/GitRepository." + plural + "//main"}},
		"an object of the same name":      {applied: []fleet.Object{{Group: "source.toolkit.fluxcd.io", Kind: "GitRepository", Name: "main"}}},
		"nothing reported":                {},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
				env := fleettest.New(t, d)
				mgmt := env.AddCluster("mgmt")
				of := func(o fleet.Object) managed.Manager {
					return managed.Manager{Tool: managed.Operator, ID: "uid-" + mgmt.ID + "/" + o.Kind + "." + o.Group + "/" + o.Namespace + "/" + o.Name}
				}
				manager := c.manager
				if manager.Tool == "" {
					manager = of(repository)
				}
				env.AddRepository("main", manager)
				root := env.AddService("mgmt", "root")
				spec := fleettest.Spec("child")
				if c.child != nil {
					c.child(&spec)
				}
				below := env.Must(env.CreateService(as(t, of(child), false), "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "mgmt", Name: "child"}, Spec: spec}))
				reports := []fleet.Report{fleettest.ReportOf(root, "", "h1"), fleettest.ReportOf(below, "", "h2")}
				reports[0].Status.Components, reports[1].Status.Components = env.Components(c.applied...), env.Components(c.below...)
				env.Report(fleet.ReportBatch{ClusterID: mgmt.ID, Reports: reports})

				v, err := env.DeleteService(t.Context(), "ann", root.Ref(), false)
				if !c.refused {
					if env.Must(v, err).Deleting != fleet.Drain {
						t.Errorf("deleting is %q", v.Deleting)
					}
					return
				}
				if !errcode.Is(err, errcode.Conflict) || !strings.Contains(err.Error(), "GitRepository main") || !strings.Contains(err.Error(), "axle services delete mgmt/root --detach") {
					t.Errorf("%v", err)
				}
				if now := env.Get(root); now.Deleting != "" {
					t.Errorf("it is being deleted: %q", now.Deleting)
				}
				if v := env.Must(env.DeleteService(t.Context(), "ann", root.Ref(), true)); v.Deleting != fleet.Detach {
					t.Errorf("with detach: %q", v.Deleting)
				}
			})
		})
	}
}

// The project and the contexts of a service are held by it as its repositories are.
func TestServiceHoldsItsProjectAndContexts(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		mgmt := env.AddCluster("mgmt")
		by := func(kind string) managed.Manager {
			return managed.Manager{Tool: managed.Operator, ID: "uid-" + mgmt.ID + "/" + kind + "." + plural + "//mine"}
		}
		if _, err := env.CreateProject(as(t, by("Project"), false), "ann", fleet.NewProject{Name: "mine"}); err != nil {
			t.Fatal(err)
		}
		env.AddContext("mine", by("ServiceContext"))
		for kind, request := range map[string]fleet.ServiceRequest{"Project": {Project: "mine"}, "ServiceContext": {Spec: fleet.Spec{Contexts: []string{"mine"}}}} {
			request.Ref = fleet.Ref{Cluster: "mgmt", Name: strings.ToLower(kind)}
			request.Spec.Repository, request.Spec.Git = "main", fleettest.Spec("web").Git
			s := env.Must(env.CreateService(t.Context(), "ann", request))
			report := fleettest.ReportOf(s, "", "h1")
			report.Status.Components = env.Components(fleet.Object{Group: plural, Kind: kind, Name: "mine"})
			env.Report(fleet.ReportBatch{ClusterID: mgmt.ID, Reports: []fleet.Report{report}})
			_, err := env.DeleteService(t.Context(), "ann", s.Ref(), false)
			if !errcode.Is(err, errcode.Conflict) || !strings.Contains(err.Error(), kind+" mine") {
				t.Errorf("%s: %v", kind, err)
			}
		}
	})
}
