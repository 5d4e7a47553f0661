package config_test

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
	"github.com/axle-cd/axle/hub/fleet/fleettest"
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

// keep makes a fleet keep values with more backends.
func keep(env *fleettest.Fleet, standard string, backends map[string]*memory) {
	env.T.Helper()
	var all []config.Place
	for name, m := range backends {
		all = append(all, config.Place{Name: name, Type: "vault", Backend: m, Prefix: "axle/", Allow: []string{"open/", "only/{project}/"}})
	}
	env.Keep(standard, all)
}

// lead runs the leader's work until the test ends.
func lead(env *fleettest.Fleet) (stop func()) {
	env.T.Helper()
	k := env.Values
	ctx, cancel := context.WithCancel(env.T.Context())
	done := make(chan error, 1)
	go func() { done <- k.Lead(ctx, env.Fleet) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				env.T.Error(err)
			}
		})
	}
	env.T.Cleanup(stop)
	return stop
}

// given is what the agent of a service's cluster gets.
func given(env *fleettest.Fleet, v fleet.ServiceView) fleet.AgentSpec {
	env.T.Helper()
	specs, _, err := env.AgentSpecs(env.T.Context(), v.ClusterID, []string{v.ID})
	if err != nil || len(specs) != 1 {
		env.T.Fatalf("%d specs, %v", len(specs), err)
	}
	return specs[0]
}

func update(env *fleettest.Fleet, v fleet.ServiceView, change func(*fleet.Spec)) fleet.ServiceView {
	env.T.Helper()
	s := env.Get(v).Spec
	change(&s)
	return env.Must(env.UpdateService(env.T.Context(), "ann", v.Ref(), s, nil, false))
}

func TestLayersOfAConfiguration(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		vault := newMemory()
		keep(env, "", map[string]*memory{"vault": vault})
		vault.values["open/web"] = map[string]string{"k": "from reference", "token": "t0"}
		env.AddCluster("edge")
		metadata := `{"k":"from cluster","zone":"b","count":1000000,"list":[1,"x"]}`
		if _, err := env.UpdateCluster(t.Context(), "ann", "edge", fleet.ClusterChange{Metadata: &metadata}); err != nil {
			t.Fatal(err)
		}
		env.SetValues(config.ValueSetChange{Kind: config.KindContext, Name: "first", ValueSet: fleet.ValueSet{Values: map[string]any{"k": "from first", "a": "1", "n": 3}}})
		env.SetValues(config.ValueSetChange{Kind: config.KindContext, Name: "second", ValueSet: fleet.ValueSet{Values: map[string]any{"k": "from second"}, Secrets: map[string]string{"pass": "context secret"}}})
		env.SetValues(config.ValueSetChange{Kind: config.KindOutputs, Name: "net", ValueSet: fleet.ValueSet{Values: map[string]any{"k": "from import", "vpc": "vpc-1"}}})
		v := env.AddService("edge", "web")
		env.Move(v, 1)
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
				update(env, v, layers[n-1])
			}
			got := given(env, v)
			if value := got.Configuration["k"] + got.Secrets["k"]; value != want[n] {
				t.Errorf("with %d layers k is %q, want %q", n+1, value, want[n])
			}
		}
		got := given(env, v)
		if got.Configuration["count"] != "1000000" || got.Configuration["list"] != `[1,"x"]` || got.Configuration["n"] != "3" || got.Configuration["vpc"] != "vpc-1" || got.Secrets["pass"] != "context secret" {
			t.Errorf("configuration is %v and %v", got.Configuration, got.Secrets)
		}
		if got.Hidden["contexts.second.pass"] != "context secret" || !strings.Contains(got.Contexts, `"pass":"context secret"`) || got.Imports != `{"net":{"k":"from import","vpc":"vpc-1"}}` {
			t.Errorf("contexts %s, imports %s, hidden %v", got.Contexts, got.Imports, got.Hidden)
		}
		_, values, err := env.ServiceConfig(t.Context(), v.Ref())
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
		env := fleettest.New(t, d)
		env.AddCluster("edge")
		env.SetValues(config.ValueSetChange{Kind: config.KindContext, Name: "prod", ValueSet: fleet.ValueSet{Secrets: map[string]string{"pass": "one"}}})
		user, other := env.AddService("edge", "user"), env.AddService("edge", "other")
		env.Move(user, 1)
		env.Move(other, 1)
		update(env, user, func(s *fleet.Spec) { s.Contexts = []string{"prod"} })
		before, beside := env.Get(user), env.Get(other)
		lead(env)
		env.SetValues(config.ValueSetChange{Kind: config.KindContext, Name: "prod", ValueSet: fleet.ValueSet{Secrets: map[string]string{"pass": "two"}}})
		env.Values.Apply(t.Context(), nil)
		if err := env.Values.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually.For(t, time.Minute, "the service has the new value", func() error {
			if got := given(env, user).Secrets["pass"]; got != "two" {
				return fmt.Errorf("it has %q", got)
			}
			return nil
		})
		after := env.Get(user)
		if after.SpecDigest == before.SpecDigest || after.Revision != before.Revision+1 {
			t.Errorf("digest %s, revision %d after %d", after.SpecDigest, after.Revision, before.Revision)
		}
		if now := env.Get(other); now.SpecDigest != beside.SpecDigest || now.Revision != beside.Revision {
			t.Error("a service that does not use it changed")
		}
		revisions, err := env.Revisions(t.Context(), user.Ref())
		if err != nil || revisions[0].Cause != fleet.CauseConfiguration {
			t.Errorf("revisions %+v, %v", revisions, err)
		}
		env.Must(env.RollbackService(t.Context(), "ann", user.Ref(), 0))
		if got := given(env, user).Secrets["pass"]; got != "one" {
			t.Errorf("after the rollback it has %q", got)
		}
		if err := env.Values.DeleteValueSet(t.Context(), config.KindContext, "prod", "ann"); !errcode.Is(err, errcode.Conflict) {
			t.Errorf("a context in use was deleted: %v", err)
		}
		if _, err := env.UpdateService(t.Context(), "ann", other.Ref(), fleet.Spec{Repository: "main", Git: &fleet.Git{Ref: "main"}, Contexts: []string{"missing"}}, nil, false); !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), "contexts[0]") {
			t.Errorf("of a context that does not exist: %v", err)
		}
	})
}

func TestAReferenceRotatesAndRollsBack(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		vault := newMemory()
		keep(env, "vault", map[string]*memory{"vault": vault})
		vault.values["open/web"] = map[string]string{"token": "t1"}
		env.AddCluster("edge")
		v := env.AddService("edge", "web")
		env.Move(v, 1)
		update(env, v, func(s *fleet.Spec) {
			s.SecretRefs = map[string]fleet.SecretRef{"api": {Backend: "vault", Path: "open/web", Key: "token"}}
			s.Secrets = map[string]string{"own": "mine"}
		})
		before := env.Get(v)
		stop := lead(env)
		stop() // once round: nothing changed
		if now := env.Get(v); now.Revision != before.Revision {
			t.Errorf("revision %d without a change, before %d", now.Revision, before.Revision)
		}
		vault.mu.Lock()
		vault.values["open/web"] = map[string]string{"token": "t2"}
		vault.mu.Unlock()
		lead(env)
		eventually.For(t, time.Minute, "the service has the new value", func() error {
			if got := given(env, v).Secrets; got["api"] != "t2" || got["own"] != "mine" {
				return fmt.Errorf("it has %v", got)
			}
			return nil
		})
		env.Must(env.RollbackService(t.Context(), "ann", v.Ref(), before.Revision))
		if got := given(env, v).Secrets; got["api"] != "t1" {
			t.Errorf("after the rollback it has %v", got)
		}
		for path, want := range map[string]errcode.Code{
			"closed/x": errcode.Forbidden, "only/other/x": errcode.Forbidden, "only/default/x": errcode.Invalid, "open/../closed/x": errcode.Invalid, "axle/cfg-1": errcode.Forbidden,
		} {
			s := env.Get(v).Spec
			s.SecretRefs = map[string]fleet.SecretRef{"api": {Backend: "vault", Path: path}}
			if _, err := env.UpdateService(t.Context(), "ann", v.Ref(), s, nil, false); !errcode.Is(err, want) || !strings.Contains(err.Error(), "secretRefs.api") {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
}

func TestBuiltInBackend(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		configtest.Contract(t, configtest.Subject{Backend: config.NewBuiltIn(env.Store, env.Store, env.Sealer), Prefix: "x-"})
	})
}

func TestKeyRotation(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		first := seal.NewKey()
		sealer := func(text []byte) *seal.Sealer {
			s, err := seal.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		env.Sealer = sealer(first)
		env.Restart()
		env.AddCluster("edge")
		v := env.AddService("edge", "web")
		env.Move(v, 1)
		update(env, v, func(s *fleet.Spec) { s.Secrets = map[string]string{"pass": "hunter2 hunter2"} })
		digest := env.Get(v).SpecDigest

		second := seal.NewKey()
		env.Sealer = sealer(append(append([]byte{}, second...), first...))
		env.Restart()
		n, id, err := env.Values.RotateKey(t.Context())
		if err != nil || n == 0 || id != env.Sealer.KeyID() {
			t.Fatalf("%d values, key %s, %v", n, id, err)
		}
		if again, _, err := env.Values.RotateKey(t.Context()); err != nil || again != 0 {
			t.Errorf("the second time %d values, %v", again, err)
		}
		// The first key may go now.
		env.Sealer = sealer(second)
		env.Restart()
		if got := given(env, v).Secrets["pass"]; got != "hunter2 hunter2" {
			t.Errorf("with the new key alone it is %q", got)
		}
		if env.Get(v).SpecDigest != digest {
			t.Error("a new key changed the service")
		}
	})
}

// killed runs a migration whose process dies at a call of the target, and
// continues it with another process, until it is done.
func TestMigrationIsKilledAtEveryCall(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		a, b := newMemory(), newMemory()
		keep(env, "a", map[string]*memory{"a": a, "b": b})
		env.AddCluster("edge")
		want := map[string]map[string]string{}
		var services []fleet.ServiceView
		for n := range 4 {
			v := env.AddService("edge", fmt.Sprintf("s%d", n))
			env.Move(v, 1)
			want[v.ID] = map[string]string{"pass": strings.Repeat(fmt.Sprintf("secret %d ü ", n), 12)}
			update(env, v, func(s *fleet.Spec) { s.Secrets = want[v.ID] })
			services = append(services, v)
		}
		env.SetValues(config.ValueSetChange{Kind: config.KindContext, Name: "prod", ValueSet: fleet.ValueSet{Secrets: map[string]string{"p": "shared"}}})
		if a.paths() < 10 {
			t.Fatalf("%d paths: documents were not cut", a.paths())
		}
		check := func(when string) {
			t.Helper()
			env.Restart() // without what is in memory
			for _, v := range services {
				if got := given(env, v).Secrets; !maps.Equal(got, want[v.ID]) {
					t.Errorf("%s: %s has %v", when, v.Name, got)
				}
			}
		}
		digests := map[string]string{}
		for _, v := range services {
			digests[v.ID] = env.Get(v).SpecDigest
		}
		if _, err := env.Values.Migrate(t.Context(), "ann", "a", "b"); err != nil {
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
			k := env.Values
			go func() { ended <- k.Lead(ctx, env.Fleet) }()
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
			if env.Get(v).SpecDigest != digests[v.ID] {
				t.Errorf("the move changed %s", v.Name)
			}
		}
		v := env.AddService("edge", "late")
		update(env, v, func(s *fleet.Spec) { s.Secrets = map[string]string{"x": "y"} })
		if a.paths() != 0 {
			t.Error("a new value went to the old backend")
		}
	})
}

// Texts of an agent quote one value of a chart, and never the whole secret.
func TestEachSecretValueOfAChartIsHidden(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		keep(env, "", nil)
		env.AddCluster("edge")
		v := env.AddService("edge", "web")
		env.Move(v, 1)
		update(env, v, func(s *fleet.Spec) {
			s.Secrets = map[string]string{"helm.valuesFrom": `{"auth":{"password":"canary","pin":12345678901,"on":true},"hosts":["a","b"]}`}
		})
		got := given(env, v)
		want := map[string]string{"helm.valuesFrom.auth.password": "canary", "helm.valuesFrom.auth.pin": "12345678901", "helm.valuesFrom.hosts[0]": "a", "helm.valuesFrom.hosts[1]": "b"}
		if diff := cmp.Diff(want, got.Hidden); diff != "" {
			t.Errorf("hidden (-want +got):\n%s", diff)
		}
		for _, text := range []string{"password: canary", `["canary"]`, `"canary"`, "null", `{"a": "canary"`, `{"a": "canary"} {}`} {
			_, err := env.UpdateService(t.Context(), "ann", v.Ref(), fleet.Spec{Secrets: map[string]string{"helm.valuesFrom": text}}, []string{"secrets"}, false)
			if !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), "secrets.helm.valuesFrom") || strings.Contains(err.Error(), "canary") {
				t.Errorf("%s: %v", text, err)
			}
		}
	})
}

func TestABackendThatIsAwayHoldsUpNobodyElse(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		vault := newMemory()
		keep(env, "vault", map[string]*memory{"vault": vault})
		env.AddCluster("edge")
		sealed, plain := env.AddService("edge", "sealed"), env.AddService("edge", "plain")
		env.Move(sealed, 1)
		env.Move(plain, 1)
		update(env, sealed, func(s *fleet.Spec) { s.Secrets = map[string]string{"a": "b"} })
		env.Restart() // without what is in memory
		vault.fails = func(int) bool { return true }
		specs, missing, err := env.AgentSpecs(t.Context(), plain.ClusterID, []string{sealed.ID, plain.ID})
		if err != nil || len(specs) != 1 || specs[0].Service.ID != plain.ID || len(missing) != 0 {
			t.Errorf("%d specs, missing %v, %v", len(specs), missing, err)
		}
		if _, err := env.UpdateService(t.Context(), "ann", sealed.Ref(), fleet.Spec{Repository: "main", Git: &fleet.Git{Ref: "main"}, Secrets: map[string]string{"a": "canary"}}, nil, false); !errcode.Is(err, errcode.Unavailable) || strings.Contains(err.Error(), "canary") {
			t.Errorf("err = %v", err)
		}
		env.Must(env.UpdateService(t.Context(), "ann", sealed.Ref(), fleet.Spec{DocsPath: "docs"}, []string{"docsPath"}, false))
		vault.fails = nil
		if got := given(env, sealed).Secrets["a"]; got != "b" {
			t.Errorf("it is %q", got)
		}
	})
}
