package fleet_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

var (
	cli       = managed.Manager{Tool: managed.CLI}
	terraform = managed.Manager{Tool: managed.Terraform, ID: "default"}
	operator  = managed.Manager{Tool: managed.Operator, ID: "0b7c/ServiceDeployment.deployments.plural.sh/platform/web"}
	managers  = []managed.Manager{
		{}, cli, {Tool: managed.Console}, terraform, {Tool: managed.Terraform, ID: "network"}, operator,
		{Tool: managed.Apply, ID: "fleet"}, {Tool: managed.Hub, ID: "global-web"},
	}
)

// as returns the context of a request.
func as(t *testing.T, by managed.Manager, takeOver bool) context.Context {
	return managed.WithCaller(t.Context(), managed.Caller{By: by, TakeOver: takeOver})
}

// TestEveryWriteOfAServiceObeysItsManager does each write between all managers. The
// table of what is right is TestDecide of hub/managed.
func TestEveryWriteOfAServiceObeysItsManager(t *testing.T) {
	red := func(ref fleet.Ref) fleet.Spec {
		spec := fleettest.Spec(ref.Name)
		spec.Configuration = map[string]string{"colour": "red"}
		return spec
	}
	writes := map[string]func(ctx context.Context, env *fleettest.Fleet, ref fleet.Ref) error{
		"update": func(ctx context.Context, env *fleettest.Fleet, ref fleet.Ref) error {
			_, err := env.UpdateService(ctx, "ann", ref, red(ref), []string{"configuration"}, false)
			return err
		},
		"apply": func(ctx context.Context, env *fleettest.Fleet, ref fleet.Ref) error {
			_, _, err := env.ApplyService(ctx, "ann", fleet.ServiceRequest{Ref: ref, Spec: red(ref)})
			return err
		},
		"delete": func(ctx context.Context, env *fleettest.Fleet, ref fleet.Ref) error {
			_, err := env.DeleteService(ctx, "ann", ref, false)
			return err
		},
	}
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.EnrollCluster(env.AddCluster("edge-1").ID)
		n := 0
		for name, write := range writes {
			for _, current := range managers {
				for _, caller := range managers {
					for _, takeOver := range []bool{false, true} {
						n++
						ref := fleet.Ref{Cluster: "edge-1", Name: fmt.Sprintf("%s-%d", name, n)}
						before := env.Must(env.CreateService(as(t, current, false), "ann", fleet.ServiceRequest{Ref: ref, Spec: fleettest.Spec(ref.Name)}))
						if before.ManagedBy != current {
							t.Fatalf("created by %v for %v", before.ManagedBy, current)
						}
						next, want := managed.Decide(current, caller, takeOver)
						err := write(as(t, caller, takeOver), env, ref)
						after := env.Get(before)
						switch {
						case want == nil && (err != nil || after.ManagedBy != next || after.Deleting == "" == (name == "delete")):
							t.Errorf("%s of %v by %v, take over %v: %v, now of %v", name, current, caller, takeOver, err, after.ManagedBy)
						case want != nil && (errcode.Of(err) != errcode.Conflict || !strings.HasPrefix(err.Error(), "service "+ref.String()+" is managed by ")):
							t.Errorf("%s of %v by %v, take over %v: %v", name, current, caller, takeOver, err)
						case want != nil && !cmp.Equal(before.Service, after.Service):
							t.Errorf("a refused %s wrote: %s", name, cmp.Diff(before.Service, after.Service))
						}
					}
				}
			}
		}
	})
}

func TestWriteThatChangesNothingNeedsNoManager(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		ref := fleet.Ref{Cluster: "edge-1", Name: "web"}
		web := env.Must(env.CreateService(as(t, operator, false), "operator", fleet.ServiceRequest{Ref: ref, Spec: fleettest.Spec("web")}))
		got, outcome, err := env.ApplyService(as(t, cli, false), "ann", fleet.ServiceRequest{Ref: ref, Spec: fleettest.Spec("web")})
		if err != nil || outcome != fleet.Unchanged || !cmp.Equal(web.Service, got.Service) {
			t.Errorf("%v, %v, %s", outcome, err, cmp.Diff(web.Service, got.Service))
		}
		got, outcome, err = env.ApplyService(as(t, terraform, true), "terraform", fleet.ServiceRequest{Ref: ref, Spec: fleettest.Spec("web")})
		if err != nil || outcome != fleet.Updated || got.ManagedBy != terraform {
			t.Errorf("an import: %v, %v, managed by %v", outcome, err, got.ManagedBy)
		}
	})
}

func TestTakingOverLeavesTheServiceAsItIs(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		ref := fleet.Ref{Cluster: "edge-1", Name: "web"}
		web := env.Must(env.CreateService(as(t, operator, false), "operator", fleet.ServiceRequest{Ref: ref, Spec: fleettest.Spec("web")}))
		env.Move(web, 1)
		before := env.Get(web)
		if _, err := env.UpdateService(as(t, cli, false), "ann", ref, fleet.Spec{}, nil, false); !errcode.Is(err, errcode.Invalid) {
			t.Errorf("an update to nothing: %v", err)
		}
		got := env.Must(env.UpdateService(as(t, cli, true), "ann", ref, fleet.Spec{}, nil, false))
		if got.ManagedBy != cli || !cmp.Equal(got.Spec, before.Spec) || got.Revision != before.Revision || got.SpecDigest != before.SpecDigest {
			t.Errorf("managed by %v, revision %d after %d, %s", got.ManagedBy, got.Revision, before.Revision, cmp.Diff(before.Spec, got.Spec))
		}
		if !slices.ContainsFunc(env.Events(web.ID), func(e event.Entry) bool {
			return e.Kind == "service.taken_over" && e.By == "ann" && e.Message == "taken over by people (CLI) from the operator (ServiceDeployment platform/web)"
		}) {
			t.Errorf("the events are %+v", env.Events(web.ID))
		}
	})
}

// What people do in an incident works whoever manages the service.
func TestVerbsOfAnIncidentAreNoWrites(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		ref := fleet.Ref{Cluster: "edge-1", Name: "web"}
		web := env.Must(env.CreateService(as(t, operator, false), "operator", fleet.ServiceRequest{Ref: ref, Spec: fleettest.Spec("web")}))
		env.Move(web, 1)
		env.Move(web, 2)
		ann := as(t, cli, false)
		env.Must(env.SyncService(ann, "ann", ref))
		env.Must(env.RollbackService(ann, "ann", ref, 1))
		env.Must(env.ResumeService(ann, "ann", ref))
		if got := env.Must(env.PauseService(ann, "ann", ref)); got.ManagedBy != operator || !got.Paused {
			t.Errorf("managed by %v, paused %v", got.ManagedBy, got.Paused)
		}
	})
}

// Of two callers at once, the later one sees what the earlier one did.
func TestTwoManagersAtOnce(t *testing.T) {
	ref := fleet.Ref{Cluster: "edge-1", Name: "web"}
	apply := func(by managed.Manager, takeOver bool, colour string) func(c *fleettest.Contended, ctx context.Context) error {
		return func(c *fleettest.Contended, ctx context.Context) error {
			spec := fleettest.Spec("web")
			spec.Configuration = map[string]string{"colour": colour}
			ctx = managed.WithCaller(ctx, managed.Caller{By: by, TakeOver: takeOver})
			_, _, err := c.ApplyService(ctx, string(by.Tool), fleet.ServiceRequest{Ref: ref, Spec: spec})
			return err
		}
	}
	for name, tc := range map[string]struct {
		exists        bool
		first, second func(c *fleettest.Contended, ctx context.Context) error
		want          managed.Manager
	}{
		"both create it":                     {false, apply(terraform, false, "red"), apply(operator, false, "blue"), terraform},
		"one takes it over, another changes": {true, apply(operator, true, "red"), apply(cli, false, "blue"), operator},
	} {
		t.Run(name, func(t *testing.T) {
			c := fleettest.NewContended(t)
			if tc.exists {
				if err := apply(cli, false, "")(c, t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			// The second transaction sees the fleet as it was before the first one.
			runs := 0
			err := c.Store.Write(t.Context(), func(ctx context.Context) error {
				if _, err := c.Store.ServiceByRef(ctx, ref); (err == nil) != (tc.exists || runs > 0) {
					t.Fatalf("run %d begins with %v", runs, err)
				}
				if runs++; runs == 1 {
					if err := tc.first(c, t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				return tc.second(c, ctx)
			})
			fleettest.WantCode(t, err, errcode.Conflict)
			got, err := c.Service(t.Context(), ref)
			if err != nil || runs != 2 || got.ManagedBy != tc.want || got.Spec.Configuration["colour"] != "red" {
				t.Errorf("after %d runs managed by %v, %v, %v", runs, got.ManagedBy, got.Spec.Configuration, err)
			}
		})
	}
}

func TestServicesAreListedByManager(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		for i, by := range managers {
			name := fmt.Sprintf("web-%d", i)
			env.Must(env.CreateService(as(t, by, false), "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: name}, Spec: fleettest.Spec(name)}))
		}
		for filter, want := range map[string]int{"": len(managers), "terraform": 2, "cli": 1, "none": 1, "hub": 1} {
			for _, cluster := range []string{"", "edge-1"} {
				page, err := env.Services(t.Context(), fleet.ServiceFilter{ManagedBy: filter, Cluster: cluster})
				if err != nil || len(page.Services) != want {
					t.Errorf("%q: %d services, %v; want %d", filter, len(page.Services), err, want)
				}
			}
		}
		_, err := env.Services(t.Context(), fleet.ServiceFilter{ManagedBy: "helm"})
		fleettest.WantCode(t, err, errcode.Invalid)
	})
}
