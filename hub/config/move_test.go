package config_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/config"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

// What a backend allows one project does not move with a service into another.
func TestAMovedServiceReadsItsReferencesAnew(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		vault := newMemory()
		keep(env, "", map[string]*memory{"vault": vault})
		vault.values["only/default/web"] = map[string]string{"token": "of default"}
		vault.values["open/web"] = map[string]string{"token": "open"}
		if _, err := env.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "shop"}); err != nil {
			t.Fatal(err)
		}
		env.AddCluster("edge")
		v := env.AddService("edge", "web")
		v = update(env, v, func(s *fleet.Spec) {
			s.SecretRefs = map[string]fleet.SecretRef{"token": {Backend: "vault", Path: "only/default/web"}}
		})
		move := func() error {
			_, _, err := env.ApplyService(t.Context(), "ann", fleet.ServiceRequest{Ref: v.Ref(), Spec: env.Get(v).Spec, Project: "shop"})
			return err
		}
		if err := move(); !errcode.Is(err, errcode.Forbidden) || !strings.Contains(err.Error(), "secretRefs.token") {
			t.Errorf("a service moves with a reference that its new project may not make: %v", err)
		}
		if now := env.Get(v); now.Project != fleet.DefaultProject {
			t.Errorf("it is in project %s", now.Project)
		}
		update(env, v, func(s *fleet.Spec) {
			s.SecretRefs = map[string]fleet.SecretRef{"token": {Backend: "vault", Path: "open/web"}}
		})
		if err := move(); err != nil || env.Get(v).Project != "shop" {
			t.Errorf("with one that is open to all it is in %s: %v", env.Get(v).Project, err)
		}
	})
}

// A change that names no project leaves contexts and outputs where they are.
func TestAValueSetStaysWhereItIs(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		shop, err := env.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{config.KindContext, config.KindOutputs} {
			set := func(step, want string, c config.ValueSetChange) {
				t.Helper()
				c.Kind, c.Name = kind, "own"
				if c.Values == nil {
					c.Values = map[string]any{"step": step}
				}
				if v := env.SetValues(c); v.ProjectID != want {
					t.Errorf("%s %s: is in project %q, want %q", kind, step, v.ProjectID, want)
				}
			}
			set("made", shop.ID, config.ValueSetChange{ProjectID: shop.ID})
			set("replaced", shop.ID, config.ValueSetChange{})
			set("added to", shop.ID, config.ValueSetChange{Merge: true})
			set("made everybody's", "", config.ValueSetChange{Global: true})
			same := map[string]any{"step": "added to"}
			set("moved, with the same values", fleet.DefaultProjectID, config.ValueSetChange{ProjectID: fleet.DefaultProjectID, Merge: true, ValueSet: fleet.ValueSet{Values: same}})
			set("made everybody's, with the same values", "", config.ValueSetChange{Global: true, ValueSet: fleet.ValueSet{Values: same}})
		}
	})
}
