package fleet_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

var (
	night   = fleet.SyncWindow{Kind: "deny", Schedule: "0 22 * * *", Duration: "8h"}
	holiday = fleet.SyncWindow{Kind: "deny", Schedule: "0 0 24 12 *", Duration: "72h", ManualSync: true}
)

// told returns the limits that the agent of a service's cluster receives.
func told(env *fleettest.Fleet, cluster, name string) fleet.Service {
	env.T.Helper()
	s, err := env.Store.ServiceByRef(env.T.Context(), fleet.Ref{Cluster: cluster, Name: name})
	if err != nil {
		env.T.Fatal(err)
	}
	specs, missing, err := env.AgentSpecs(env.T.Context(), s.ClusterID, []string{s.ID})
	if err != nil || len(missing) > 0 || len(specs) != 1 {
		env.T.Fatalf("%v, %v, %v", specs, missing, err)
	}
	return specs[0].Service
}

func limit(env *fleettest.Fleet, project string, l fleet.Limits) {
	env.T.Helper()
	if _, err := env.UpdateProject(env.T.Context(), "ann", project, fleet.ProjectChange{Limits: &l}); err != nil {
		env.T.Fatal(err)
	}
}

func settle(env *fleettest.Fleet) {
	env.T.Helper()
	if err := env.SettleLimits(env.T.Context()); err != nil {
		env.T.Fatal(err)
	}
}

func TestLimitsOfAProjectReachItsServices(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		if _, err := env.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "shop", Limits: fleet.Limits{Kinds: []string{"Deployment.apps"}}}); err != nil {
			t.Fatal(err)
		}
		env.AddCluster("edge-1")
		env.AddService("edge-1", "other")
		untouched := told(env, "edge-1", "other")
		if !untouched.Limits.Zero() {
			t.Errorf("a project without limits: %+v", untouched.Limits)
		}
		r := fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: "web"}, Spec: fleettest.Spec("web"), Project: "shop"}
		env.Must(env.CreateService(t.Context(), "ann", r))
		born := told(env, "edge-1", "web")
		if diff := cmp.Diff(fleet.Limits{Kinds: []string{"Deployment.apps"}}, born.Limits); diff != "" {
			t.Errorf("as it is made (-want +got):\n%s", diff)
		}

		// The next process completes what a killed one began; until then both
		// the digest and the delivered limits are the previous ones.
		limit(env, "shop", fleet.Limits{Namespaces: []string{"web", "shop-*"}, ServiceAccount: "deployer", SyncWindows: []fleet.SyncWindow{night}})
		if err := env.SetSyncWindows(t.Context(), "ann", []fleet.SyncWindow{holiday}); err != nil {
			t.Fatal(err)
		}
		if now := told(env, "edge-1", "web"); now.SpecDigest != born.SpecDigest || !cmp.Equal(now.Limits, born.Limits) {
			t.Errorf("half of a change: %+v", now.Limits)
		}
		settle(env)
		limited := told(env, "edge-1", "web")
		want := fleet.Limits{Namespaces: []string{"shop-*", "web"}, ServiceAccount: "deployer", SyncWindows: []fleet.SyncWindow{night}, HubWindows: []fleet.SyncWindow{holiday}}
		if diff := cmp.Diff(want, limited.Limits); diff != "" || limited.SpecDigest == born.SpecDigest {
			t.Errorf("digest %s, before %s; limits (-want +got):\n%s", limited.SpecDigest, born.SpecDigest, diff)
		}
		if other := told(env, "edge-1", "other"); !cmp.Equal(other.Limits, fleet.Limits{HubWindows: []fleet.SyncWindow{holiday}}) {
			t.Errorf("windows of the hub hold for every project: %+v", other.Limits)
		}
		if limited.Revision != born.Revision {
			t.Errorf("limits made revision %d of %d", limited.Revision, born.Revision)
		}

		limit(env, "shop", fleet.Limits{Kinds: []string{"Deployment.apps"}})
		if err := env.SetSyncWindows(t.Context(), "ann", nil); err != nil {
			t.Fatal(err)
		}
		settle(env)
		for name, before := range map[string]fleet.Service{"web": born, "other": untouched} {
			if now := told(env, "edge-1", name); now.SpecDigest != before.SpecDigest {
				t.Errorf("%s: digest %s, at first %s", name, now.SpecDigest, before.SpecDigest)
			}
		}
	})
}

// A new project gets the windows of the hub that existed before it.
func TestNewProjectHasTheWindowsOfTheHub(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		if err := env.SetSyncWindows(t.Context(), "ann", []fleet.SyncWindow{holiday}); err != nil {
			t.Fatal(err)
		}
		made, err := env.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "shop"})
		if err != nil || !cmp.Equal(made.Delivered.HubWindows, []fleet.SyncWindow{holiday}) || !made.Limits.Zero() {
			t.Errorf("%+v, %v", made, err)
		}
	})
}

func TestServiceMovesToAProjectWithLimits(t *testing.T) {
	for name, before := range map[string]func(env *fleettest.Fleet, web fleet.ServiceView){
		"as it is": func(*fleettest.Fleet, fleet.ServiceView) {},
		"pinned": func(env *fleettest.Fleet, web fleet.ServiceView) {
			env.Move(web, 1)
			env.Move(web, 2)
			env.Must(env.RollbackService(env.T.Context(), "ann", fleet.Ref{Cluster: "edge-1", Name: "web"}, 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
				env := fleettest.New(t, d)
				limits := fleet.Limits{Kinds: []string{"ConfigMap"}}
				if _, err := env.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "shop", Limits: limits}); err != nil {
					t.Fatal(err)
				}
				env.AddCluster("edge-1")
				before(env, env.AddService("edge-1", "web"))
				was := told(env, "edge-1", "web")
				_, _, err := env.ApplyService(t.Context(), "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: "web"}, Spec: fleettest.Spec("web"), Project: "shop"})
				if err != nil {
					t.Fatal(err)
				}
				if now := told(env, "edge-1", "web"); now.SpecDigest == was.SpecDigest || !cmp.Equal(now.Limits, limits) || now.Project != "shop" {
					t.Errorf("digest %s, was %s; %+v of %s", now.SpecDigest, was.SpecDigest, now.Limits, now.Project)
				}
			})
		})
	}
}

func TestLimitsAreRefusedWhereTheyCannotHold(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		env.AddService("edge-1", "web")
		for name, tc := range map[string]struct {
			limits fleet.Limits
			code   errcode.Code
			says   string
		}{
			"a service is elsewhere": {fleet.Limits{Namespaces: []string{"shop-*"}}, errcode.Conflict, "edge-1/web is in namespace web"},
			"a pattern":              {fleet.Limits{Namespaces: []string{"web", "[a"}}, errcode.Invalid, "limits.namespaces[1]"},
			"an empty pattern":       {fleet.Limits{Kinds: []string{""}}, errcode.Invalid, "limits.kinds[0]"},
			"a window":               {fleet.Limits{SyncWindows: []fleet.SyncWindow{{Kind: "deny"}}}, errcode.Invalid, "limits.syncWindows[0]"},
			"an account":             {fleet.Limits{ServiceAccount: "a/b/c"}, errcode.Invalid, "limits.serviceAccount"},
			"an account of elsewhere": {fleet.Limits{Namespaces: []string{"web"}, ServiceAccount: "kube-system/admin"}, errcode.Invalid,
				"namespace kube-system is not in limits.namespaces"},
			"an account of anywhere": {fleet.Limits{ServiceAccount: "ops/admin"}, errcode.Invalid, "limits.serviceAccount"},
		} {
			_, err := env.UpdateProject(t.Context(), "ann", "default", fleet.ProjectChange{Limits: &tc.limits})
			if !errcode.Is(err, tc.code) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: %v, want %s with %q", name, err, tc.code, tc.says)
			}
		}
		fleettest.WantCode(t, env.SetSyncWindows(t.Context(), "ann", []fleet.SyncWindow{{Kind: "maybe"}}), errcode.Invalid)

		limit(env, "default", fleet.Limits{Namespaces: []string{"web", "team-?"}})
		create := func(namespace string) error {
			s := fleettest.Spec("web")
			s.Namespace = namespace
			_, err := env.CreateService(t.Context(), "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: "new"}, Spec: s, DryRun: true})
			return err
		}
		fleettest.WantCode(t, create("team-10"), errcode.Forbidden)
		fleettest.WantCode(t, create(""), errcode.Forbidden)
		if err := create("team-1"); err != nil {
			t.Error(err)
		}
		moved := fleettest.Spec("web")
		moved.Namespace = "kube-system"
		_, err := env.UpdateService(t.Context(), "ann", fleet.Ref{Cluster: "edge-1", Name: "web"}, moved, nil, false)
		fleettest.WantCode(t, err, errcode.Forbidden)
	})
}

// These are more services than one transaction handles.
func TestLimitsReachManyServices(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		c := env.AddCluster("edge-1")
		const n = 501
		err := env.Store.Write(t.Context(), func(ctx context.Context) error {
			for i := range n {
				s := fleet.StoredService{Service: fleet.Service{ID: "svc-" + label(i), ClusterID: c.ID, Name: "s" + label(i), Namespace: "web", ProjectID: fleet.DefaultProjectID, SourceID: "src"}}
				if err := env.Store.InsertService(ctx, s); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		limit(env, "default", fleet.Limits{Kinds: []string{"ConfigMap"}})
		settle(env)
		behind, err := env.Store.ServicesToLimit(t.Context(), "", 10)
		if err != nil || len(behind) != 0 {
			t.Errorf("%d are behind, %v", len(behind), err)
		}
		if s := told(env, "edge-1", "s"+label(n-1)); len(s.Limits.Kinds) != 1 {
			t.Errorf("the last: %+v", s.Limits)
		}
	})
}

func label(i int) string {
	return string([]byte{'a' + byte(i/100), 'a' + byte(i/10%10), 'a' + byte(i%10)})
}

// Settings of the hub and of projects that change nothing for a service give it
// no other digest, so that its agent renders nothing, and make no event of it.
func TestSettingsThatDoNotTouchAServiceAreNoNews(t *testing.T) {
	account := func(name string) fleet.Limits {
		return fleet.Limits{Kinds: []string{"ConfigMap", "Secret"}, ServiceAccount: name, Accounts: []string{"*/mine"}}
	}
	for name, change := range map[string]func(env *fleettest.Fleet) error{
		"the same windows in another order": func(env *fleettest.Fleet) error {
			return env.SetSyncWindows(env.T.Context(), "ann", []fleet.SyncWindow{holiday, night})
		},
		"the same limits in another order": func(env *fleettest.Fleet) error {
			limit(env, "shop", fleet.Limits{Kinds: []string{"Secret", "ConfigMap"}, ServiceAccount: "one", Accounts: []string{"*/mine"}})
			return nil
		},
		"another account, while the service has its own": func(env *fleettest.Fleet) error {
			limit(env, "shop", account("two"))
			return nil
		},
		"accounts that services may act as": func(env *fleettest.Fleet) error {
			with := account("one")
			with.Accounts = []string{"web/mine", "web/other"}
			limit(env, "shop", with)
			return nil
		},
		"a description": func(env *fleettest.Fleet) error {
			text := "the shop"
			_, err := env.UpdateProject(env.T.Context(), "ann", "shop", fleet.ProjectChange{Description: &text})
			return err
		},
		"limits of another project": func(env *fleettest.Fleet) error {
			limit(env, "other", fleet.Limits{Kinds: []string{"ConfigMap"}})
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
				env := fleettest.New(t, d)
				for _, project := range []string{"shop", "other"} {
					if _, err := env.CreateProject(t.Context(), "ann", fleet.NewProject{Name: project, Limits: account("one")}); err != nil {
						t.Fatal(err)
					}
				}
				if err := env.SetSyncWindows(t.Context(), "ann", []fleet.SyncWindow{night, holiday}); err != nil {
					t.Fatal(err)
				}
				env.AddCluster("edge-1")
				own := fleettest.Spec("web")
				own.ServiceAccount = "mine"
				web := env.Must(env.CreateService(t.Context(), "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: "web"}, Spec: own, Project: "shop"}))
				settle(env)
				before, since := told(env, "edge-1", "web"), last(env)
				if err := change(env); err != nil {
					t.Fatal(err)
				}
				settle(env)
				if now := told(env, "edge-1", "web"); now.SpecDigest != before.SpecDigest {
					t.Errorf("the service has another digest")
				}
				rows, err := env.Store.ChangesAfter(t.Context(), since, 100)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range rows {
					if r.Key == web.ID {
						t.Errorf("the feed tells of the service: %+v", r)
					}
				}
				if events := env.Events(web.ID); len(events) != 1 {
					t.Errorf("events %+v; want its creation alone", events)
				}
			})
		})
	}
}

func last(env *fleettest.Fleet) int64 {
	env.T.Helper()
	last, err := env.Store.LastSequence(env.T.Context())
	if err != nil {
		env.T.Fatal(err)
	}
	return last
}
