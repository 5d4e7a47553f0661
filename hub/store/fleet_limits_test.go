package store_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/fanout"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

var (
	night   = fleet.SyncWindow{Kind: "deny", Schedule: "0 22 * * *", Duration: "8h"}
	holiday = fleet.SyncWindow{Kind: "deny", Schedule: "0 0 24 12 *", Duration: "72h", ManualSync: true}
)

// told returns the limits that the agent of a service's cluster receives.
func (y *yard) told(cluster, name string) fleet.Service {
	y.t.Helper()
	s, err := y.store.ServiceByRef(y.t.Context(), fleet.Ref{Cluster: cluster, Name: name})
	if err != nil {
		y.t.Fatal(err)
	}
	specs, missing, err := y.AgentSpecs(y.t.Context(), s.ClusterID, []string{s.ID})
	if err != nil || len(missing) > 0 || len(specs) != 1 {
		y.t.Fatalf("%v, %v, %v", specs, missing, err)
	}
	return specs[0].Service
}

func (y *yard) limit(project string, l fleet.Limits) {
	y.t.Helper()
	if _, err := y.UpdateProject(y.t.Context(), "ann", project, fleet.ProjectChange{Limits: &l}); err != nil {
		y.t.Fatal(err)
	}
}

func (y *yard) settle() {
	y.t.Helper()
	if err := y.SettleLimits(y.t.Context()); err != nil {
		y.t.Fatal(err)
	}
}

func TestLimitsOfAProjectReachItsServices(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		if _, err := y.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "shop", Limits: fleet.Limits{Kinds: []string{"Deployment.apps"}}}); err != nil {
			t.Fatal(err)
		}
		y.cluster("edge-1")
		y.service("edge-1", "other")
		untouched := y.told("edge-1", "other")
		if !untouched.Limits.Zero() {
			t.Errorf("a project without limits: %+v", untouched.Limits)
		}
		r := fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: "web"}, Spec: spec("web"), Project: "shop"}
		y.must(y.CreateService(t.Context(), "ann", r))
		born := y.told("edge-1", "web")
		if diff := cmp.Diff(fleet.Limits{Kinds: []string{"Deployment.apps"}}, born.Limits); diff != "" {
			t.Errorf("as it is made (-want +got):\n%s", diff)
		}

		// The next process completes what a killed one began; until then both
		// the digest and the delivered limits are the previous ones.
		y.limit("shop", fleet.Limits{Namespaces: []string{"web", "shop-*"}, ServiceAccount: "deployer", SyncWindows: []fleet.SyncWindow{night}})
		if err := y.SetSyncWindows(t.Context(), "ann", []fleet.SyncWindow{holiday}); err != nil {
			t.Fatal(err)
		}
		if now := y.told("edge-1", "web"); now.SpecDigest != born.SpecDigest || !cmp.Equal(now.Limits, born.Limits) {
			t.Errorf("half of a change: %+v", now.Limits)
		}
		y.settle()
		limited := y.told("edge-1", "web")
		want := fleet.Limits{Namespaces: []string{"shop-*", "web"}, ServiceAccount: "deployer", SyncWindows: []fleet.SyncWindow{night}, HubWindows: []fleet.SyncWindow{holiday}}
		if diff := cmp.Diff(want, limited.Limits); diff != "" || limited.SpecDigest == born.SpecDigest {
			t.Errorf("digest %s, before %s; limits (-want +got):\n%s", limited.SpecDigest, born.SpecDigest, diff)
		}
		if other := y.told("edge-1", "other"); !cmp.Equal(other.Limits, fleet.Limits{HubWindows: []fleet.SyncWindow{holiday}}) {
			t.Errorf("windows of the hub hold for every project: %+v", other.Limits)
		}
		if limited.Revision != born.Revision {
			t.Errorf("limits made revision %d of %d", limited.Revision, born.Revision)
		}

		y.limit("shop", fleet.Limits{Kinds: []string{"Deployment.apps"}})
		if err := y.SetSyncWindows(t.Context(), "ann", nil); err != nil {
			t.Fatal(err)
		}
		y.settle()
		for name, before := range map[string]fleet.Service{"web": born, "other": untouched} {
			if now := y.told("edge-1", name); now.SpecDigest != before.SpecDigest {
				t.Errorf("%s: digest %s, at first %s", name, now.SpecDigest, before.SpecDigest)
			}
		}
	})
}

// A new project gets the windows of the hub that existed before it.
func TestNewProjectHasTheWindowsOfTheHub(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		if err := y.SetSyncWindows(t.Context(), "ann", []fleet.SyncWindow{holiday}); err != nil {
			t.Fatal(err)
		}
		made, err := y.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "shop"})
		if err != nil || !cmp.Equal(made.Delivered.HubWindows, []fleet.SyncWindow{holiday}) || !made.Limits.Zero() {
			t.Errorf("%+v, %v", made, err)
		}
	})
}

func TestServiceMovesToAProjectWithLimits(t *testing.T) {
	for name, before := range map[string]func(y *yard, web fleet.ServiceView){
		"as it is": func(*yard, fleet.ServiceView) {},
		"pinned": func(y *yard, web fleet.ServiceView) {
			y.move(web, 1)
			y.move(web, 2)
			y.must(y.RollbackService(y.t.Context(), "ann", fleet.Ref{Cluster: "edge-1", Name: "web"}, 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
				y := newYard(t, d)
				limits := fleet.Limits{Kinds: []string{"ConfigMap"}}
				if _, err := y.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "shop", Limits: limits}); err != nil {
					t.Fatal(err)
				}
				y.cluster("edge-1")
				before(y, y.service("edge-1", "web"))
				was := y.told("edge-1", "web")
				_, _, err := y.ApplyService(t.Context(), "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: "web"}, Spec: spec("web"), Project: "shop"})
				if err != nil {
					t.Fatal(err)
				}
				if now := y.told("edge-1", "web"); now.SpecDigest == was.SpecDigest || !cmp.Equal(now.Limits, limits) || now.Project != "shop" {
					t.Errorf("digest %s, was %s; %+v of %s", now.SpecDigest, was.SpecDigest, now.Limits, now.Project)
				}
			})
		})
	}
}

func TestLimitsAreRefusedWhereTheyCannotHold(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		y.cluster("edge-1")
		y.service("edge-1", "web")
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
			_, err := y.UpdateProject(t.Context(), "ann", "default", fleet.ProjectChange{Limits: &tc.limits})
			if !errcode.Is(err, tc.code) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: %v, want %s with %q", name, err, tc.code, tc.says)
			}
		}
		wantCode(t, y.SetSyncWindows(t.Context(), "ann", []fleet.SyncWindow{{Kind: "maybe"}}), errcode.Invalid)

		y.limit("default", fleet.Limits{Namespaces: []string{"web", "team-?"}})
		create := func(namespace string) error {
			s := spec("web")
			s.Namespace = namespace
			_, err := y.CreateService(t.Context(), "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: "new"}, Spec: s, DryRun: true})
			return err
		}
		wantCode(t, create("team-10"), errcode.Forbidden)
		wantCode(t, create(""), errcode.Forbidden)
		if err := create("team-1"); err != nil {
			t.Error(err)
		}
		moved := spec("web")
		moved.Namespace = "kube-system"
		_, err := y.UpdateService(t.Context(), "ann", fleet.Ref{Cluster: "edge-1", Name: "web"}, moved, nil, false)
		wantCode(t, err, errcode.Forbidden)
	})
}

// Nothing limits the agents' own service: it is for the whole cluster, and
// fixes the agents that obey limits.
func TestLimitsLeaveTheHubsOwnServiceAlone(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		if _, err := y.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "shop"}); err != nil {
			t.Fatal(err)
		}
		c, err := y.CreateCluster(t.Context(), "ann", fleet.NewCluster{Name: "edge-1", Project: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		y.enroll(c.ID)
		y.ping(c.ID, "1.0.0")
		agents := fanout.Agents{Fleet: y.Fleet}
		if refused := y.place(agents, "1.1.0", c.ID); len(refused) > 0 {
			t.Fatal(refused)
		}
		was := y.told("edge-1", "axle-agent")
		for _, project := range []string{"default", "shop"} {
			y.limit(project, fleet.Limits{Namespaces: []string{"a"}, Kinds: []string{"ConfigMap"}})
		}
		if err := y.SetSyncWindows(t.Context(), "ann", []fleet.SyncWindow{night}); err != nil {
			t.Fatal(err)
		}
		y.settle()
		if now := y.told("edge-1", "axle-agent"); now.SpecDigest != was.SpecDigest || !now.Limits.Zero() || now.Project != fleet.DefaultProject {
			t.Errorf("digest %s, was %s; %+v of project %s", now.SpecDigest, was.SpecDigest, now.Limits, now.Project)
		}
	})
}

// These are more services than one transaction handles.
func TestLimitsReachManyServices(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		c := y.cluster("edge-1")
		const n = 501
		err := y.store.Write(t.Context(), func(ctx context.Context) error {
			for i := range n {
				s := fleet.StoredService{Service: fleet.Service{ID: "svc-" + label(i), ClusterID: c.ID, Name: "s" + label(i), Namespace: "web", ProjectID: fleet.DefaultProjectID, SourceID: "src"}}
				if err := y.store.InsertService(ctx, s); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		y.limit("default", fleet.Limits{Kinds: []string{"ConfigMap"}})
		y.settle()
		behind, err := y.store.ServicesToLimit(t.Context(), "", 10)
		if err != nil || len(behind) != 0 {
			t.Errorf("%d are behind, %v", len(behind), err)
		}
		if s := y.told("edge-1", "s"+label(n-1)); len(s.Limits.Kinds) != 1 {
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
		return fleet.Limits{Kinds: []string{"ConfigMap", "Secret"}, ServiceAccount: name}
	}
	for name, change := range map[string]func(y *yard) error{
		"the same windows in another order": func(y *yard) error {
			return y.SetSyncWindows(y.t.Context(), "ann", []fleet.SyncWindow{holiday, night})
		},
		"the same limits in another order": func(y *yard) error {
			y.limit("shop", fleet.Limits{Kinds: []string{"Secret", "ConfigMap"}, ServiceAccount: "one"})
			return nil
		},
		"another account, while the service has its own": func(y *yard) error {
			y.limit("shop", account("two"))
			return nil
		},
		"a description": func(y *yard) error {
			text := "the shop"
			_, err := y.UpdateProject(y.t.Context(), "ann", "shop", fleet.ProjectChange{Description: &text})
			return err
		},
		"limits of another project": func(y *yard) error {
			y.limit("other", fleet.Limits{Kinds: []string{"ConfigMap"}})
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
				y := newYard(t, d)
				for _, project := range []string{"shop", "other"} {
					if _, err := y.CreateProject(t.Context(), "ann", fleet.NewProject{Name: project, Limits: account("one")}); err != nil {
						t.Fatal(err)
					}
				}
				if err := y.SetSyncWindows(t.Context(), "ann", []fleet.SyncWindow{night, holiday}); err != nil {
					t.Fatal(err)
				}
				y.cluster("edge-1")
				own := spec("web")
				own.ServiceAccount = "mine"
				web := y.must(y.CreateService(t.Context(), "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: "web"}, Spec: own, Project: "shop"}))
				y.settle()
				before, since := y.told("edge-1", "web"), y.last()
				if err := change(y); err != nil {
					t.Fatal(err)
				}
				y.settle()
				if now := y.told("edge-1", "web"); now.SpecDigest != before.SpecDigest {
					t.Errorf("the service has another digest")
				}
				rows, err := y.store.ChangesAfter(t.Context(), since, 100)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range rows {
					if r.Key == web.ID {
						t.Errorf("the feed tells of the service: %+v", r)
					}
				}
				events, err := y.store.Events(t.Context(), store.EventFilter{Service: web.ID})
				if err != nil || len(events) != 1 {
					t.Errorf("events %+v, %v; want its creation alone", events, err)
				}
			})
		})
	}
}

func (y *yard) last() int64 {
	y.t.Helper()
	last, err := y.store.LastSequence(y.t.Context())
	if err != nil {
		y.t.Fatal(err)
	}
	return last
}
