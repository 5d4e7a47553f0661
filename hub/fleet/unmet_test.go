package fleet_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/store/storetest"
)

// A cluster shows the text of each check of its template that does not hold for what its
// management cluster reports, and for its variables.
func TestChecksAreEvaluatedOverTheState(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env, ctx := fleettest.New(t, d), t.Context()
		hosts, err := env.CreateCluster(ctx, "ann", fleet.NewCluster{Name: "hosts"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := env.MakeCluster(ctx, "ann", fleet.MadeCluster{
			NewCluster: fleet.NewCluster{Name: "shop-1"}, ManagementID: hosts.ID,
			Origin: fleet.Origin{
				TemplateID: "ctp_a", Template: "eks", Commit: "c", Version: "v1.37.0", Variables: `{"least": 3}`,
				Checks: `[{"name": "available", "expression": "has(status.conditions) && status.conditions.exists(c, c.type == \"Available\" && c.status == \"True\")", "message": "It is not available."},
					{"name": "workers", "expression": "status.workers.readyReplicas >= variables.least", "message": "There are too few workers."},
					{"name": "broken", "expression": "status.phase == 'Failed' ? status.none : true", "message": "It failed."}]`,
			},
			Builtin: fleet.Builtin{Name: "cluster-shop-1", Namespace: "cluster-shop-1", Version: "c", Digest: "axle1:" + strings.Repeat("a", 64), Size: 9, Contained: true},
		}); err != nil {
			t.Fatal(err)
		}
		service, err := env.Service(ctx, fleet.Ref{Cluster: "hosts", Name: "cluster-shop-1"})
		if err != nil {
			t.Fatal(err)
		}
		report := func(s fleet.MadeState, want ...string) {
			t.Helper()
			s.Unmet = []string{"an agent has no say in this"}
			if err := env.StoreMadeStates(ctx, hosts.ID, map[string]fleet.MadeState{service.ID: s}); err != nil {
				t.Fatal(err)
			}
			c, err := env.ClusterNamed(ctx, "shop-1")
			if err != nil || !slices.EqualFunc(c.MadeState.Unmet, want, strings.HasPrefix) {
				t.Errorf("in %s: %q, want %q: %v", s.Phase, c.MadeState.Unmet, want, err)
			}
		}
		available := []fleet.MadeCondition{{Type: "Available", Status: "True"}}
		few := []fleet.Machines{{Name: "a", Ready: 1}, {Name: "b", Ready: 1}}
		report(fleet.MadeState{Phase: "Provisioning"}, "It is not available. (check available of the template)", "There are too few workers. (check workers of the template)")
		report(fleet.MadeState{Phase: "Provisioned", Conditions: available, Pools: few}, "There are too few workers. (check workers of the template)")
		report(fleet.MadeState{Phase: "Provisioned", Conditions: available, Pools: append(few, fleet.Machines{Name: "c", Ready: 1})})
		report(fleet.MadeState{Phase: "Failed", Conditions: available, Pools: append(few, few...)}, "It failed. (check broken of the template); it cannot be evaluated: ")
	})
}

// meddler is a Writer that lets others go first, and measures how long its transactions take.
type meddler struct {
	fleet.Writer
	first func()
	took  time.Duration
}

func (m *meddler) Write(ctx context.Context, fn func(ctx context.Context) error) error {
	if first := m.first; first != nil {
		m.first = nil
		first()
	}
	return m.Writer.Write(ctx, func(ctx context.Context) error {
		start := time.Now()
		defer func() { m.took += time.Since(start) }()
		return fn(ctx)
	})
}

// Checks take their time before the transaction, in which others wait, and hold for the
// cluster as it is then.
func TestChecksAreEvaluatedBeforeTheTransaction(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env, ctx := fleettest.New(t, d), t.Context()
		hosts := env.AddCluster("hosts")
		// Each takes as long as the checks of a cluster may.
		const slow = `{"name": "slow", "expression": "!variables.many.all(a, variables.many.all(b, variables.many.all(c, a <= b || b <= c || a > 0.0)))", "message": "It is slow."}`
		many := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(make([]int, 1000))), ","), "[]")
		states := map[string]fleet.MadeState{}
		for i := range 6 {
			name := fmt.Sprintf("shop-%d", i)
			if _, err := env.MakeCluster(ctx, "ann", fleet.MadeCluster{
				NewCluster: fleet.NewCluster{Name: name}, ManagementID: hosts.ID,
				Origin: fleet.Origin{
					TemplateID: "ctp_a", Template: "eks", Commit: "c", Version: "v1.37.0", Variables: `{"many": [` + many + `]}`,
					Checks: "[" + slow + strings.Repeat(","+slow, 9) + "]",
				},
				Builtin: fleet.Builtin{Name: "cluster-" + name, Namespace: "cluster-" + name, Version: "c", Digest: "axle1:" + strings.Repeat("a", 64), Size: 9, Contained: true},
			}); err != nil {
				t.Fatal(err)
			}
			service, err := env.Service(ctx, fleet.Ref{Cluster: "hosts", Name: "cluster-" + name})
			if err != nil {
				t.Fatal(err)
			}
			states[service.ID] = fleet.MadeState{Phase: "Provisioned"}
		}
		unmet := func(name string) []string {
			c, err := env.ClusterNamed(ctx, name)
			if err != nil || c.MadeState.Phase != "Provisioned" {
				t.Fatalf("%s is %+v: %v", name, c.MadeState, err)
			}
			return c.MadeState.Unmet
		}
		m := &meddler{Writer: env.Store}
		env.Writer = m
		env.Restart()
		start := time.Now()
		if err := env.StoreMadeStates(ctx, hosts.ID, states); err != nil {
			t.Fatal(err)
		}
		if whole := time.Since(start); len(unmet("shop-0")) == 0 || m.took > whole/2 {
			t.Errorf("of %s, the transaction takes %s; %d checks do not hold", whole, m.took, len(unmet("shop-0")))
		}
		// A cluster that is being destroyed when the report is stored has no checks.
		m.first = func() {
			if _, err := env.DestroyCluster(ctx, "ann", "shop-0", false); err != nil {
				t.Error(err)
			}
		}
		if err := env.StoreMadeStates(ctx, hosts.ID, states); err != nil {
			t.Fatal(err)
		}
		if len(unmet("shop-0")) != 0 || len(unmet("shop-1")) == 0 {
			t.Errorf("after it changed meanwhile: %q, and of another one %q", unmet("shop-0"), unmet("shop-1"))
		}
	})
}
