package store_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/config"
	"github.com/axle-cd/axle/hub/config/configtest"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/seal"
)

// memory is a backend in this process that can be made to fail.
type memory struct {
	mu     sync.Mutex
	values map[string]map[string]string
	calls  int
	limit  int
	// fails reports whether a call, counted from 1, fails.
	fails func(call int) bool
}

func newMemory() *memory { return &memory{values: map[string]map[string]string{}, limit: 64} }

func (m *memory) call() error {
	m.calls++
	if m.fails != nil && m.fails(m.calls) {
		return errcode.New(errcode.Unavailable, "it is away")
	}
	return nil
}

func (m *memory) Read(_ context.Context, path string) (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call(); err != nil {
		return nil, err
	}
	values, ok := m.values[path]
	if !ok {
		return nil, errcode.New(errcode.NotFound, "nothing at %q", path)
	}
	return maps.Clone(values), nil
}

func (m *memory) Write(_ context.Context, path string, values map[string]string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call(); err != nil {
		return err
	}
	m.values[path] = maps.Clone(values)
	return nil
}

func (m *memory) Delete(_ context.Context, path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call(); err != nil {
		return err
	}
	delete(m.values, path)
	return nil
}

func (m *memory) Check(context.Context) error { return nil }

func (m *memory) Limit() int { return m.limit }

func (m *memory) paths() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.values)
}

// keep makes the yard's fleet keep values with more backends.
func (y *yard) keep(standard string, places map[string]*memory) {
	y.t.Helper()
	y.backends, y.standard = places, standard
	y.Fleet = y.newFleet()
}

// places are the yard's further backends.
func (y *yard) places() []config.Place {
	var all []config.Place
	for name, m := range y.backends {
		all = append(all, config.Place{Name: name, Type: "vault", Backend: m, Prefix: "axle/", Allow: []string{"open/", "only/{project}/"}})
	}
	return all
}

// lead runs the leader's work until the test ends.
func (y *yard) lead() (stop func()) {
	y.t.Helper()
	k := y.values
	ctx, cancel := context.WithCancel(y.t.Context())
	done := make(chan error, 1)
	go func() { done <- k.Lead(ctx, y.Fleet) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				y.t.Error(err)
			}
		})
	}
	y.t.Cleanup(stop)
	return stop
}

func (y *yard) setBag(c config.BagChange) config.BagView {
	y.t.Helper()
	c.By = "ann"
	v, err := y.values.SetBag(y.t.Context(), c)
	if err != nil {
		y.t.Fatal(err)
	}
	return v
}

// given is what the agent of a service's cluster gets.
func (y *yard) given(v fleet.ServiceView) fleet.AgentSpec {
	y.t.Helper()
	specs, _, err := y.AgentSpecs(y.t.Context(), v.ClusterID, []string{v.ID})
	if err != nil || len(specs) != 1 {
		y.t.Fatalf("%d specs, %v", len(specs), err)
	}
	return specs[0]
}

func (y *yard) update(v fleet.ServiceView, change func(*fleet.Spec)) fleet.ServiceView {
	y.t.Helper()
	s := y.get(v).Spec
	change(&s)
	return y.must(y.UpdateService(y.t.Context(), "ann", v.Ref(), s, nil, false))
}

func TestLayersOfAConfiguration(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		vault := newMemory()
		y.keep("", map[string]*memory{"vault": vault})
		vault.values["open/web"] = map[string]string{"k": "from reference", "token": "t0"}
		y.cluster("edge")
		metadata := `{"k":"from cluster","zone":"b","count":1000000,"list":[1,"x"]}`
		if _, err := y.UpdateCluster(t.Context(), "ann", "edge", fleet.ClusterChange{Metadata: &metadata}); err != nil {
			t.Fatal(err)
		}
		y.setBag(config.BagChange{Kind: config.KindContext, Name: "first", Bag: fleet.Bag{Values: map[string]any{"k": "from first", "a": "1", "n": 3}}})
		y.setBag(config.BagChange{Kind: config.KindContext, Name: "second", Bag: fleet.Bag{Values: map[string]any{"k": "from second"}, Secrets: map[string]string{"pass": "context secret"}}})
		y.setBag(config.BagChange{Kind: config.KindOutputs, Name: "net", Bag: fleet.Bag{Values: map[string]any{"k": "from import", "vpc": "vpc-1"}}})
		v := y.service("edge", "web")
		y.move(v, 1)
		layers := []func(*fleet.Spec){
			func(s *fleet.Spec) { s.Contexts = []string{"first", "second"} },
			func(s *fleet.Spec) { s.Imports = []fleet.Import{{Stack: "net"}} },
			func(s *fleet.Spec) { s.Configuration = map[string]string{"k": "from service"} },
			func(s *fleet.Spec) {
				s.SecretRefs = map[string]fleet.SecretRef{"k": {Backend: "vault", Path: "open/web"}}
			},
		}
		want := []string{"from cluster", "from second", "from import", "from service", "from reference"}
		for n := range want {
			if n > 0 {
				y.update(v, layers[n-1])
			}
			got := y.given(v)
			if value := got.Configuration["k"] + got.Secrets["k"]; value != want[n] {
				t.Errorf("with %d layers k is %q, want %q", n+1, value, want[n])
			}
		}
		got := y.given(v)
		if got.Configuration["count"] != "1000000" || got.Configuration["list"] != `[1,"x"]` || got.Configuration["n"] != "3" || got.Configuration["vpc"] != "vpc-1" || got.Secrets["pass"] != "context secret" {
			t.Errorf("configuration is %v and %v", got.Configuration, got.Secrets)
		}
		if got.Hidden["contexts.second.pass"] != "context secret" || !strings.Contains(got.Contexts, `"pass":"context secret"`) || got.Imports != `{"net":{"k":"from import","vpc":"vpc-1"}}` {
			t.Errorf("contexts %s, imports %s, hidden %v", got.Contexts, got.Imports, got.Hidden)
		}
		_, values, err := y.ServiceConfig(t.Context(), v.Ref())
		if err != nil {
			t.Fatal(err)
		}
		var shown []string
		for i, l := range values["k"].Layers {
			shown = append(shown, fmt.Sprintf("%s %s=%s %t", l.Layer, l.Source, l.Value, values["k"].Hashes[i] != ""))
		}
		if diff := cmp.Diff([]string{
			"reference vault:open/web= true", "service =from service false", "import net=from import false",
			"context second=from second false", "context first=from first false", "cluster edge=from cluster false",
		}, shown); diff != "" {
			t.Errorf("layers (-want +got):\n%s", diff)
		}
	})
}

func TestAChangedContextReachesItsServicesAlone(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		y.cluster("edge")
		y.setBag(config.BagChange{Kind: config.KindContext, Name: "prod", Bag: fleet.Bag{Secrets: map[string]string{"pass": "one"}}})
		user, other := y.service("edge", "user"), y.service("edge", "other")
		y.move(user, 1)
		y.move(other, 1)
		y.update(user, func(s *fleet.Spec) { s.Contexts = []string{"prod"} })
		before, beside := y.get(user), y.get(other)
		y.lead()
		y.setBag(config.BagChange{Kind: config.KindContext, Name: "prod", Bag: fleet.Bag{Secrets: map[string]string{"pass": "two"}}})
		y.values.Apply(t.Context(), nil)
		if err := y.values.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually.For(t, time.Minute, "the service has the new value", func() error {
			if got := y.given(user).Secrets["pass"]; got != "two" {
				return fmt.Errorf("it has %q", got)
			}
			return nil
		})
		after := y.get(user)
		if after.SpecDigest == before.SpecDigest || after.Revision != before.Revision+1 {
			t.Errorf("digest %s, revision %d after %d", after.SpecDigest, after.Revision, before.Revision)
		}
		if now := y.get(other); now.SpecDigest != beside.SpecDigest || now.Revision != beside.Revision {
			t.Error("a service that does not use it changed")
		}
		revisions, err := y.Revisions(t.Context(), user.Ref())
		if err != nil || revisions[0].Cause != fleet.CauseConfiguration {
			t.Errorf("revisions %+v, %v", revisions, err)
		}
		y.must(y.RollbackService(t.Context(), "ann", user.Ref(), 0))
		if got := y.given(user).Secrets["pass"]; got != "one" {
			t.Errorf("after the rollback it has %q", got)
		}
		if err := y.values.DeleteBag(t.Context(), config.KindContext, "prod", "ann"); !errcode.Is(err, errcode.Conflict) {
			t.Errorf("a context in use was deleted: %v", err)
		}
		if _, err := y.UpdateService(t.Context(), "ann", other.Ref(), fleet.Spec{Repository: "main", Git: &fleet.Git{Ref: "main"}, Contexts: []string{"missing"}}, nil, false); !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), "contexts[0]") {
			t.Errorf("of a context that does not exist: %v", err)
		}
	})
}

func TestAReferenceRotatesAndRollsBack(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		vault := newMemory()
		y.keep("vault", map[string]*memory{"vault": vault})
		vault.values["open/web"] = map[string]string{"token": "t1"}
		y.cluster("edge")
		v := y.service("edge", "web")
		y.move(v, 1)
		y.update(v, func(s *fleet.Spec) {
			s.SecretRefs = map[string]fleet.SecretRef{"api": {Backend: "vault", Path: "open/web", Key: "token"}}
			s.Secrets = map[string]string{"own": "mine"}
		})
		before := y.get(v)
		stop := y.lead()
		stop() // once round: nothing changed
		if now := y.get(v); now.Revision != before.Revision {
			t.Errorf("revision %d without a change, before %d", now.Revision, before.Revision)
		}
		vault.mu.Lock()
		vault.values["open/web"] = map[string]string{"token": "t2"}
		vault.mu.Unlock()
		y.lead()
		eventually.For(t, time.Minute, "the service has the new value", func() error {
			if got := y.given(v).Secrets; got["api"] != "t2" || got["own"] != "mine" {
				return fmt.Errorf("it has %v", got)
			}
			return nil
		})
		y.must(y.RollbackService(t.Context(), "ann", v.Ref(), before.Revision))
		if got := y.given(v).Secrets; got["api"] != "t1" {
			t.Errorf("after the rollback it has %v", got)
		}
		for path, want := range map[string]errcode.Code{
			"closed/x": errcode.Forbidden, "only/other/x": errcode.Forbidden, "only/default/x": errcode.Invalid, "open/../closed/x": errcode.Invalid, "axle/cfg-1": errcode.Forbidden,
		} {
			s := y.get(v).Spec
			s.SecretRefs = map[string]fleet.SecretRef{"api": {Backend: "vault", Path: path}}
			if _, err := y.UpdateService(t.Context(), "ann", v.Ref(), s, nil, false); !errcode.Is(err, want) || !strings.Contains(err.Error(), "secretRefs.api") {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
}

func TestBuiltInBackend(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		configtest.Contract(t, configtest.Subject{Backend: config.NewBuiltIn(y.store, y.store, y.sealer), Prefix: "x-"})
	})
}

func TestKeyRotation(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		first := seal.NewKey()
		sealer := func(text []byte) *seal.Sealer {
			s, err := seal.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		y.sealer = sealer(first)
		y.Fleet = y.newFleet()
		y.cluster("edge")
		v := y.service("edge", "web")
		y.move(v, 1)
		y.update(v, func(s *fleet.Spec) { s.Secrets = map[string]string{"pass": "hunter2 hunter2"} })
		digest := y.get(v).SpecDigest

		second := seal.NewKey()
		y.sealer = sealer(append(append([]byte{}, second...), first...))
		y.Fleet = y.newFleet()
		n, id, err := y.values.RotateKey(t.Context())
		if err != nil || n == 0 || id != y.sealer.KeyID() {
			t.Fatalf("%d values, key %s, %v", n, id, err)
		}
		if again, _, err := y.values.RotateKey(t.Context()); err != nil || again != 0 {
			t.Errorf("the second time %d values, %v", again, err)
		}
		// The first key may go now.
		y.sealer = sealer(second)
		y.Fleet = y.newFleet()
		if got := y.given(v).Secrets["pass"]; got != "hunter2 hunter2" {
			t.Errorf("with the new key alone it is %q", got)
		}
		if y.get(v).SpecDigest != digest {
			t.Error("a new key changed the service")
		}
	})
}

// killed runs a migration whose process dies at a call of the target, and
// continues it with another process, until it is done.
func TestMigrationIsKilledAtEveryCall(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		a, b := newMemory(), newMemory()
		y.keep("a", map[string]*memory{"a": a, "b": b})
		y.cluster("edge")
		want := map[string]map[string]string{}
		var services []fleet.ServiceView
		for n := range 4 {
			v := y.service("edge", fmt.Sprintf("s%d", n))
			y.move(v, 1)
			want[v.ID] = map[string]string{"pass": strings.Repeat(fmt.Sprintf("secret %d ü ", n), 12)}
			y.update(v, func(s *fleet.Spec) { s.Secrets = want[v.ID] })
			services = append(services, v)
		}
		y.setBag(config.BagChange{Kind: config.KindContext, Name: "prod", Bag: fleet.Bag{Secrets: map[string]string{"p": "shared"}}})
		if a.paths() < 10 {
			t.Fatalf("%d paths: documents were not cut", a.paths())
		}
		check := func(when string) {
			t.Helper()
			y.Fleet = y.newFleet() // without what is in memory
			for _, v := range services {
				if got := y.given(v).Secrets; !maps.Equal(got, want[v.ID]) {
					t.Errorf("%s: %s has %v", when, v.Name, got)
				}
			}
		}
		digests := map[string]string{}
		for _, v := range services {
			digests[v.ID] = y.get(v).SpecDigest
		}
		if _, err := y.values.Migrate(t.Context(), "ann", "a", "b"); err != nil {
			t.Fatal(err)
		}
		done := false
		for life := 1; !done; life++ {
			if life > 400 {
				t.Fatal("it does not come to an end")
			}
			// Each run makes a few calls to either side, so that one dies at
			// each point of a step, and then everything fails until its end.
			calls := 8 + life%8
			ctx, kill := context.WithCancel(t.Context())
			for _, m := range []*memory{a, b} {
				m.mu.Lock()
				m.calls = 0
				m.fails = func(call int) bool {
					if call > calls {
						kill()
						return true
					}
					return false
				}
				m.mu.Unlock()
			}
			ended := make(chan error, 1)
			k := y.values
			go func() { ended <- k.Lead(ctx, y.Fleet) }()
			eventually.For(t, time.Minute, "the life ended or the migration is done", func() error {
				m, err := k.Migration(t.Context())
				if err != nil {
					return err
				}
				if done = m.Phase == config.PhaseDone; done || ctx.Err() != nil {
					return nil
				}
				return errors.New(m.Phase)
			})
			kill()
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			for _, m := range []*memory{a, b} {
				m.mu.Lock()
				m.fails = nil
				m.mu.Unlock()
			}
			check(fmt.Sprintf("after life %d", life))
		}
		if a.paths() != 0 || b.paths() < 10 {
			t.Errorf("%d paths are left, %d arrived", a.paths(), b.paths())
		}
		for _, v := range services {
			if y.get(v).SpecDigest != digests[v.ID] {
				t.Errorf("the move changed %s", v.Name)
			}
		}
		v := y.service("edge", "late")
		y.update(v, func(s *fleet.Spec) { s.Secrets = map[string]string{"x": "y"} })
		if a.paths() != 0 {
			t.Error("a new value went to the old backend")
		}
	})
}

func TestABackendThatIsAwayHoldsUpNobodyElse(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		vault := newMemory()
		y.keep("vault", map[string]*memory{"vault": vault})
		y.cluster("edge")
		sealed, plain := y.service("edge", "sealed"), y.service("edge", "plain")
		y.move(sealed, 1)
		y.move(plain, 1)
		y.update(sealed, func(s *fleet.Spec) { s.Secrets = map[string]string{"a": "b"} })
		y.Fleet = y.newFleet() // without what is in memory
		vault.fails = func(int) bool { return true }
		specs, missing, err := y.AgentSpecs(t.Context(), plain.ClusterID, []string{sealed.ID, plain.ID})
		if err != nil || len(specs) != 1 || specs[0].Service.ID != plain.ID || len(missing) != 0 {
			t.Errorf("%d specs, missing %v, %v", len(specs), missing, err)
		}
		if _, err := y.UpdateService(t.Context(), "ann", sealed.Ref(), fleet.Spec{Repository: "main", Git: &fleet.Git{Ref: "main"}, Secrets: map[string]string{"a": "canary"}}, nil, false); !errcode.Is(err, errcode.Unavailable) || strings.Contains(err.Error(), "canary") {
			t.Errorf("err = %v", err)
		}
		y.must(y.UpdateService(t.Context(), "ann", sealed.Ref(), fleet.Spec{DocsPath: "docs"}, []string{"docsPath"}, false))
		vault.fails = nil
		if got := y.given(sealed).Secrets["a"]; got != "b" {
			t.Errorf("it is %q", got)
		}
	})
}
