package config_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/config"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// An app-of-apps works on an empty fleet: services may import outputs that nobody
// has written yet.
func TestMissingOutputsAreWaitedFor(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		shop, err := env.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		env.AddCluster("edge")
		web := env.AddService("edge", "web")
		update(env, web, func(s *fleet.Spec) { s.Imports = []fleet.Import{{Stack: "net"}, {Stack: "dns"}} })
		waits := func(step string, revision int64, names ...string) {
			t.Helper()
			v := env.Get(web)
			if v.Revision != revision || v.Sync != fleet.Pending || v.Reason != fleet.ReasonNoOutputs {
				t.Errorf("%s: revision %d, %s %s: %s", step, v.Revision, v.Sync, v.Reason, v.Message)
			}
			for _, name := range []string{"net", "dns", "late"} {
				if strings.Contains(v.Message, name) != slices.Contains(names, name) {
					t.Errorf("%s: %q, want that it names %q", step, v.Message, names)
				}
			}
		}
		tell := func(c config.ValueSetChange) {
			t.Helper()
			c.Kind, c.Values = config.KindOutputs, map[string]any{"of": c.Name}
			env.SetValues(c)
			env.Values.Apply(t.Context(), []event.Row{{Change: event.Change{Kind: event.KindOutputs, Key: c.Name}}})
			eventually.For(t, time.Minute, "its services are told", func() error {
				left, err := env.Store.UntoldValueSets(t.Context())
				if err == nil && len(left) > 0 {
					err = errors.New("some were not told")
				}
				return err
			})
		}
		lead(env)
		waits("declared", 0, "net", "dns")
		env.Move(web, 1)
		waits("its source has content", 0, "net", "dns")
		tell(config.ValueSetChange{Name: "net"})
		waits("one of two exists", 0, "dns")
		tell(config.ValueSetChange{Name: "dns"})
		if v := env.Get(web); v.Revision != 1 || v.Reason == fleet.ReasonNoOutputs || given(env, web).Imports != `{"dns":{"of":"dns"},"net":{"of":"net"}}` {
			t.Fatalf("both exist: %+v, imports %s", v.Service, given(env, web).Imports)
		}

		// What runs stays while an edit waits, also when its source moves.
		update(env, web, func(s *fleet.Spec) { s.Imports = append(s.Imports, fleet.Import{Stack: "late"}) })
		waits("one more is imported", 1, "late")
		env.Move(web, 2)
		waits("its source moves", 1, "late")
		if got := given(env, web).Imports; strings.Contains(got, "late") || !strings.Contains(got, "net") {
			t.Errorf("while it waits it has the imports %s", got)
		}

		// Those of another project are not for it, and it does not hold them.
		tell(config.ValueSetChange{Name: "late", ProjectID: shop.ID})
		waits("another project has them", 1, "late")
		if err := env.Values.DeleteValueSet(t.Context(), config.KindOutputs, "late", "ann"); err != nil {
			t.Errorf("outputs that a service of another project waits for cannot be deleted: %v", err)
		}
		tell(config.ValueSetChange{Name: "late", ProjectID: shop.ID})
		tell(config.ValueSetChange{Name: "late", Global: true})
		if v := env.Get(web); v.Revision != 2 || v.Undelivered || !strings.Contains(given(env, web).Imports, "late") {
			t.Errorf("all may use them: %+v, imports %s", v.Service, given(env, web).Imports)
		}
		if err := env.Values.DeleteValueSet(t.Context(), config.KindOutputs, "late", "ann"); !errcode.Is(err, errcode.Conflict) {
			t.Errorf("outputs in use were deleted: %v", err)
		}
	})
}
