package agent

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/cache"
	"github.com/axle-cd/axle/agent/cleanup"
	"github.com/axle-cd/axle/agent/clusterapi"
	"github.com/axle-cd/axle/agent/configuration"
	"github.com/axle-cd/axle/agent/drift"
	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/agent/hubclient"
	"github.com/axle-cd/axle/agent/identity"
	"github.com/axle-cd/axle/agent/kube"
	"github.com/axle-cd/axle/agent/poll"
	"github.com/axle-cd/axle/agent/preview"
	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/agent/testrun"
	"github.com/axle-cd/axle/agent/upgrade"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/lifecycle"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/seal"
)

// Agent is one agent of one cluster.
type Agent struct {
	cfg        Config
	bootID     string
	kube       *kube.Cluster
	transport  *http.Transport
	identities identity.Store
	page       *page
	// registry measures the process, measured the current work: an agent may start
	// its work again after a failed upgrade.
	registry *prometheus.Registry
	measured atomic.Pointer[prometheus.Registry]
	loop     atomic.Pointer[poll.Loop]
	tunnel   atomic.Pointer[tunnels]
	// rules judge the health of objects; users define them in the cluster.
	rules  health.Rules
	keeper *upgrade.Keeper // nil if the agent does not replace itself
	// pools are what projects and people share.
	pools *pool.Set
}

// New checks the configuration; it contacts nothing. Errors are Invalid.
func New(cfg Config) (*Agent, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	ca, err := cfg.CAPEM()
	if err != nil {
		return nil, err
	}
	a := &Agent{cfg: cfg, registry: prometheus.NewRegistry(), bootID: newBootID()}
	//lint:ignore SA1019 the package that replaces these links a SQL driver interface
	a.registry.MustRegister(prometheus.NewGoCollector(), prometheus.NewProcessCollector(prometheus.ProcessCollectorOpts{}))
	a.pools = pool.NewSet(a.registry)
	a.page = newPage(a)
	if a.transport, err = hubclient.NewTransport(ca); err != nil {
		return nil, err
	}
	if _, err := hubclient.New(hubclient.Config{URL: cfg.HubURL, Transport: a.transport}); err != nil {
		return nil, err
	}
	if a.kube, err = kube.New(cfg.Kubeconfig, cfg.Clock, cfg.Log); err != nil {
		return nil, err
	}
	if cfg.Kubeconfig != "" {
		a.identities = identity.File{Path: cfg.Dir(identity.FileName)}
	} else {
		a.identities = identity.Secret{Client: a.kube.Client, Namespace: cfg.Namespace}
	}
	if cfg.SelfUpgrade {
		if a.keeper, err = a.newKeeper(); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func newBootID() string {
	var id [8]byte
	rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

// Run runs the agent until the context ends. It checks the flags first, so that a
// wrong one does not use up the bootstrap token.
func (a *Agent) Run(ctx context.Context) error {
	renderer, err := a.renderer()
	if err != nil {
		return err
	}
	defer renderer.Close()
	unlock, err := lockFolder(a.cfg.DataDir)
	if err != nil {
		return err
	}
	defer unlock()
	listener, err := a.page.listen(ctx, a.cfg.MetricsListen)
	if err != nil {
		return err
	}
	a.cfg.Log.Info("agent starts", logkey.Version, buildinfo.Version, logkey.Address, a.page.address())
	return lifecycle.Run(ctx,
		lifecycle.Part{Name: "health page", Run: func(ctx context.Context) error { return a.page.run(ctx, listener) }},
		lifecycle.Part{Name: "profiles", Run: a.serveProfiles},
		lifecycle.Part{Name: "agent", Run: func(ctx context.Context) error { return a.live(ctx, renderer) }})
}

// Pools returns what projects and people share.
func (a *Agent) Pools() *pool.Set { return a.pools }

// Address is the address of /healthz and /metrics, empty before Run.
func (a *Agent) Address() string { return a.page.address() }

// work loads the identity, wires the parts and runs them. It may run again after it
// ended, with another boot id: the hub must be able to tell the runs apart.
func (a *Agent) work(ctx context.Context, renderer *render.Runner) error {
	a.bootID = newBootID()
	id, fresh, err := a.enrol(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	p, err := a.assemble(id, fresh, renderer)
	if err != nil {
		return err
	}
	a.loop.Store(p.loop)
	a.tunnel.Store(p.tunnel)
	conf := configuration.New(a.kube, p.loop)
	finder := clusterapi.NewFinder(p.made, a.kube)
	rules := newHealthRules(a.kube, &a.rules, verdicts{renderer}.check, p.watcher.RulesChanged)
	return lifecycle.Run(ctx,
		lifecycle.Part{Name: "poll", Run: p.loop.Run},
		lifecycle.Part{Name: "drift", Run: func(ctx context.Context) error { return p.watcher.Run(ctx, p.engine) }},
		lifecycle.Part{Name: "cluster", Run: func(ctx context.Context) error {
			return a.kube.Run(ctx, func() {
				p.engine.APIsChanged()
				p.loop.APIsChanged()
				conf.APIsChanged()
				rules.apisChanged()
				finder.APIsChanged()
			})
		}},
		lifecycle.Part{Name: "configuration", Run: conf.Run},
		lifecycle.Part{Name: "health rules", Run: rules.run},
		lifecycle.Part{Name: "tests", Run: p.tests.Run},
		lifecycle.Part{Name: "tunnel", Run: p.tunnel.run},
		lifecycle.Part{Name: "clusters made here", Run: p.made.Run},
		lifecycle.Part{Name: "clusters found here", Run: finder.Run},
		lifecycle.Part{Name: "cleanup", Run: p.cleaner.Run},
		lifecycle.Part{Name: "token", Run: p.session.run})
}

// parts are the components that work runs.
type parts struct {
	loop    *poll.Loop
	watcher *drift.Watcher
	engine  *apply.Engine
	session *session
	tests   *testrun.Runner
	tunnel  *tunnels
	made    *clusterapi.Clusters
	cleaner *cleanup.Cleaner
}

// assemble wires the parts; it contacts nothing.
func (a *Agent) assemble(id *identity.Identity, fresh bool, renderer *render.Runner) (*parts, error) {
	a.page.named(id.ClusterName)
	sealer, err := seal.Parse([]byte(id.SealKey))
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	a.measured.Store(registry)
	transfers := newTransfers(registry)
	store, err := cache.New(cache.Config{Dir: a.cfg.DataDir, Sealer: sealer, Observe: transfers.observe, Clock: a.cfg.Clock, Log: a.cfg.Log})
	if err != nil {
		return nil, err
	}
	remembered, err := store.Recall()
	if err != nil {
		return nil, err
	}
	client, list, err := a.connect(id, &remembered)
	if err != nil {
		return nil, err
	}
	transfers.refused = client.Refused
	session := &session{agent: a, client: client, id: id}
	watcher, engine, err := a.steps(id.ClusterID, renderer)
	if err != nil {
		return nil, err
	}
	tests, err := a.testRunner(session)
	if err != nil {
		return nil, err
	}
	gate := tenancy.New(a.kube.REST, a.cfg.Namespace)
	made := clusterapi.New(clusterapi.Config{Hub: session, Client: a.kube.Client, Dynamic: a.kube.Dynamic, Namespace: a.cfg.Namespace, BootID: a.bootID, Clock: a.cfg.Clock, Log: a.cfg.Log, Pools: a.pools})
	gate.Close(made.Maker)
	cleaner := cleanup.New(cleanup.Config{Hub: session, Client: a.kube.Client.CoreV1().RESTClient(), Dynamic: a.kube.Dynamic, BootID: a.bootID, Clock: a.cfg.Clock, Log: a.cfg.Log})
	loop, err := poll.New(poll.Config{
		Hub: session, Cache: store, Gate: gate, Render: renderer, Apply: applier{engine, a}, Claims: engine, Inventory: engine, Watch: watcher, Cluster: a.kube, Tests: tests, Heals: watcher, Previews: &preview.Maker{Gate: gate, Cache: store, Tarball: session.Tarball, Render: renderer, Cluster: a.kube, Differ: engine, Tests: true, Clock: a.cfg.Clock}, OnDemand: engine, Diffs: session, Specs: made.Set, Destroying: cleaner.Set,
		List: list, Remembered: remembered, Fresh: fresh, BootID: a.bootID, AgentVersion: buildinfo.Version, Installation: a.installation(),
		Former:   func(ctx context.Context, ids []string) error { return apply.LetGo(ctx, engine, ids) },
		Interval: a.cfg.PollInterval, Fixed: a.cfg.PollInterval != 0, Clock: a.cfg.Clock, Log: a.cfg.Log, Registerer: registry, Pools: a.pools,
	})
	if err != nil {
		return nil, err
	}
	reach, err := a.newTunnel(session, loop, engine, made, registry)
	if err != nil {
		return nil, err
	}
	return &parts{loop, watcher, engine, session, tests, reach, made, cleaner}, nil
}

// connect makes the client, and trusts the stored list only if a pinned key signed
// it.
func (a *Agent) connect(id *identity.Identity, remembered *cache.Remembered) (*hubclient.Client, *agentv1.Desired, error) {
	seen, err := hubclient.ParsePosition(remembered.Seen)
	if err != nil {
		a.cfg.Log.Warn("cannot read the stored position", logkey.Error, err)
	}
	client, err := hubclient.New(hubclient.Config{
		URL: a.cfg.HubURL, Transport: a.transport, ClusterID: id.ClusterID, Token: id.Token, Keys: id.SigningKeys, Former: id.FormerKeys, Seen: seen, Shown: remembered.Shown, Clock: a.cfg.Clock,
	})
	if err != nil || len(remembered.Signed) == 0 {
		return client, nil, err
	}
	list, err := client.Verify(remembered.Signed)
	if err != nil {
		a.cfg.Log.Warn("ignoring the stored list; the next poll requests it again", logkey.Error, err)
		return client, nil, nil
	}
	return client, list.Desired, nil
}

// tell passes the id of a service to the loop once it exists.
func (a *Agent) tell(do func(*poll.Loop, string)) func(string) {
	return func(service string) {
		if loop := a.loop.Load(); loop != nil {
			do(loop, service)
		}
	}
}

// projectOf is the project of a service, empty for one that is not known.
func (a *Agent) projectOf(service string) string {
	if loop := a.loop.Load(); loop != nil {
		return loop.Project(service)
	}
	return ""
}

// testRunner makes the runner of services' tests.
func (a *Agent) testRunner(hub testrun.Hub) (*testrun.Runner, error) {
	return testrun.New(testrun.Config{
		File: a.cfg.Dir("tests.json"), Hub: hub, BootID: a.bootID, Clock: a.cfg.Clock, Log: a.cfg.Log, Pools: a.pools,
		Changed: a.tell((*poll.Loop).Touched),
		Ready: func(service string) (bool, string) {
			if loop := a.loop.Load(); loop != nil {
				return loop.ReadyForTests(service)
			}
			return false, ""
		},
	})
}

// steps makes the parts that handle the cluster's objects.
func (a *Agent) steps(clusterID string, renderer *render.Runner) (*drift.Watcher, *apply.Engine, error) {
	watcher, err := drift.New(drift.Config{
		REST: a.kube.REST, ClusterID: clusterID, Rules: &a.rules, Expressions: verdicts{renderer}, Clock: a.cfg.Clock, Log: a.cfg.Log,
		Changed: a.tell((*poll.Loop).Touched), NeedPass: a.tell((*poll.Loop).NeedPass), Project: a.projectOf, Pools: a.pools,
	})
	if err != nil {
		return nil, nil, err
	}
	engine, err := apply.New(apply.Config{
		REST: a.kube.REST, ClusterID: clusterID, Namespace: a.cfg.Namespace, Live: watcher, Clock: a.cfg.Clock, Log: a.cfg.Log,
		NeedPass: a.tell((*poll.Loop).NeedPass),
	})
	return watcher, engine, err
}

// applier is the engine with a namespace for its inventories.
type applier struct {
	*apply.Engine
	agent *Agent
}

// Load implements poll.Applier.
func (p applier) Load(ctx context.Context) error {
	if err := p.agent.kube.EnsureNamespace(ctx, p.agent.cfg.Namespace); err != nil {
		return err
	}
	return p.Engine.Load(ctx)
}

func (a *Agent) renderer() (*render.Runner, error) {
	return render.New(render.Config{
		Binary: a.cfg.RenderBinary, Tools: a.cfg.ToolsDir, Work: filepath.Join(a.cfg.DataDir, "tools"), Log: a.cfg.Log, Pools: a.pools,
	})
}

// lockFolder prevents a second agent from using the data folder.
func lockFolder(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, errcode.New(errcode.Invalid, "--data-dir: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "--data-dir: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, fmt.Errorf("%w (%w)", errcode.New(errcode.Conflict, "another agent uses the data folder %s; stop it or choose another --data-dir", dir), f.Close())
	}
	return func() { f.Close() }, nil
}
