package hub

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/axle-cd/axle/hub/agentapi"
	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/backup"
	"github.com/axle-cd/axle/hub/clusterapi"
	"github.com/axle-cd/axle/hub/config"
	"github.com/axle-cd/axle/hub/config/backend"
	"github.com/axle-cd/axle/hub/console"
	"github.com/axle-cd/axle/hub/desired"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/depend"
	"github.com/axle-cd/axle/hub/fleet/follow"
	"github.com/axle-cd/axle/hub/fleet/globals"
	"github.com/axle-cd/axle/hub/fleet/index"
	"github.com/axle-cd/axle/hub/fleet/metrics"
	"github.com/axle-cd/axle/hub/fleet/namespaces"
	"github.com/axle-cd/axle/hub/fleet/watch"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/identity/wiring"
	"github.com/axle-cd/axle/hub/login"
	"github.com/axle-cd/axle/hub/login/declared"
	"github.com/axle-cd/axle/hub/notify"
	"github.com/axle-cd/axle/hub/objects"
	"github.com/axle-cd/axle/hub/observe"
	"github.com/axle-cd/axle/hub/oidc"
	"github.com/axle-cd/axle/hub/operations"
	"github.com/axle-cd/axle/hub/preview/refs"
	"github.com/axle-cd/axle/hub/setuptoken"
	"github.com/axle-cd/axle/hub/static"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/terraform"
	"github.com/axle-cd/axle/hub/tunnel"
	"github.com/axle-cd/axle/hub/tunnel/authproxy"
	"github.com/axle-cd/axle/hub/webhook"
	"github.com/axle-cd/axle/internal/gitversion"
	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/routes"
	"github.com/axle-cd/axle/internal/strangers"
	"github.com/axle-cd/axle/internal/tracing"
)

// openTimeout limits opening the database, including migrations.
const openTimeout = 5 * time.Minute

// Hub is one replica of the management plane.
type Hub struct {
	config Config
	log    *slog.Logger
	// backends are those that --config-backends declares.
	backends []backend.Declared
	replica  string
	folder   *os.File

	listener        net.Listener
	addr            net.Addr
	tls             *tls.Config
	metricsListener net.Listener

	store    *store.Store
	feed     *event.Feed
	cache    *gitcache.Cache
	values   *config.Keeper
	fleet    *fleet.Fleet
	callers  wiring.Parts
	audit    *audit.Log
	desired  *desired.Index
	index    *index.Index
	streams  *watch.Streams
	heads    *heads
	globals  *globals.Globals
	rollouts *globals.Rollouts
	// namespaces are managed with globals.
	namespaces   *namespaces.Namespaces
	notifier     *notify.Notifier
	operations   *operations.Operations
	objects      *objects.Objects
	applications *application.Applications
	observer     *observe.Observer
	clusters     *clusterapi.Clusters
	replicas     *replicas
	backups      *backup.Keeper
	setup        *setuptoken.Keeper
	declared     *declared.Providers
	login        *login.Server
	signin       *oidc.Provider
	agents       *agents
	tunnels      *tunnel.Tunnels
	proxy        *authproxy.Proxy

	registry  *prometheus.Registry
	readiness *readiness
	routes    routes.Mux
	handler   http.Handler
	pools     *pool.Set
	strangers *strangers.Gate
	// deliveries are those to webhooks that exist.
	deliveries *strangers.Gate
	hooks      *webhook.Server
}

// New opens the data folder, the addresses and the database, and connects the
// parts. Run, or Close, must follow. Errors in the caller's configuration are
// Invalid or Conflict.
func New(c Config) (_ *Hub, err error) {
	if c, err = c.withDefaults(); err == nil {
		err = c.Backup.Check()
	}
	if err != nil {
		return nil, err
	}
	h := &Hub{config: c, log: c.Log, registry: prometheus.NewRegistry()}
	h.pools = pool.NewSet(h.registry)
	h.strangers = strangers.New(h.pools, "strangers_bodies", "requests of callers who are not logged in")
	h.deliveries = strangers.New(h.pools, "deliveries", "deliveries to webhooks")
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	if err := gitversion.Check(ctx); err != nil {
		return nil, err
	}
	if err := h.open(ctx); err != nil {
		return nil, err
	}
	if err := h.makeParts(ctx); err != nil {
		return nil, err
	}
	return h, h.makeEdges()
}

// open opens the resources that only one process can have.
func (h *Hub) open(ctx context.Context) (err error) {
	c := h.config
	if h.folder, err = lockFolder(c.DataDir); err != nil {
		return err
	}
	if h.replica, err = replicaName(c.DataDir, c.Replica); err != nil {
		return err
	}
	if h.listener, h.tls, err = c.listen(ctx); err != nil {
		return err
	}
	h.addr = h.listener.Addr()
	if c.MetricsListen != "" {
		if h.metricsListener, err = listenTCP(ctx, "--metrics-listen", c.MetricsListen); err != nil {
			return err
		}
	}
	h.store, err = store.Open(ctx, h.config.storeConfig())
	return err
}

func (c Config) storeConfig() store.Config {
	return store.Config{DatabaseURL: c.DatabaseURL, DataDir: c.DataDir, KeyFile: c.KeyFile, Clock: c.Clock, Log: c.Log}
}

// makeParts creates the domain parts, each with the few others that it knows, and
// the feed that updates their indexes. Subscribers see a change in the order in
// which they subscribe, so a part subscribes before those that read its index.
func (h *Hub) makeParts(ctx context.Context) (err error) {
	c := h.config
	key, err := digestKey(ctx, h.store)
	if err != nil {
		return err
	}
	if h.feed, err = event.NewFeed(event.FeedConfig{Store: h.store, Announced: h.store.Announced, Proofs: event.NewProofs(key), Clock: c.Clock, Log: c.Log, Registerer: h.registry}); err != nil {
		return err
	}
	h.store.OnCommit(h.feed.Wake)
	if h.replicas, err = h.newReplicas(); err != nil {
		return err
	}
	if h.cache, err = h.newCache(); err != nil {
		return err
	}
	if h.values, err = h.newValues(ctx); err != nil {
		return err
	}
	if err := makeFleet(h, key); err != nil {
		return err
	}
	if err := makeCallers(h); err != nil {
		return err
	}
	if h.audit, err = h.newAudit(); err != nil {
		return err
	}
	if h.desired, err = desired.New(desired.Config{Fleet: h.fleet, Feed: h.feed, Learnt: store.Learnt{Store: h.store}, Log: c.Log}); err != nil {
		return err
	}
	registerProcess(h)
	if h.backups, err = newBackups(h); err != nil {
		return err
	}
	h.registry.MustRegister(metrics.New(h.fleet, h.desired))
	if err := makeActors(h, key); err != nil {
		return err
	}
	if h.agents, err = h.newAgents(); err != nil {
		return err
	}
	if h.tunnels, err = h.newTunnels(); err != nil {
		return err
	}
	if h.proxy, err = h.newProxy(); err != nil {
		return err
	}
	makeIndex(h)
	if h.declared, err = declared.New(c.LoginProviders, h.callers.Accounts, c.Clock, c.Log); err != nil {
		return err
	}
	h.setup = setuptoken.New(c.DataDir, h.callers.Accounts, c.Clock, c.Log)
	for _, s := range []event.Subscriber{h.callers.Identity, h.callers.Signer, h.fleet, h.index, h.desired, h.heads, h.rollouts, h.values, h.agents, h.setup, h.tunnels, h.notifier, h.operations, h.clusters} {
		h.feed.Subscribe(s)
	}
	return nil
}

// makeActors creates what acts on the fleet by itself or for people.
func makeActors(h *Hub, key []byte) (err error) {
	if h.notifier, err = newNotifier(h); err != nil {
		return err
	}
	h.operations = newOperations(h)
	if h.applications, err = newApplications(h, key); err != nil {
		return err
	}
	if h.observer, err = newObserver(h); err != nil {
		return err
	}
	if h.objects, err = newObjects(h); err != nil {
		return err
	}
	h.clusters, err = newClusters(h, h.config.Log)
	return err
}

// makeIndex creates the index of the fleet, and the streams that follow it.
func makeIndex(h *Hub) {
	h.index = index.New(index.Config{Store: store.Index(h.store), Freshness: h.fleet.Freshness, Tunnel: h.tunnels.State, Log: h.log})
	h.streams = watch.New(watch.Config{Index: h.index, Feed: h.feed, Identity: h.callers.Identity, Clock: h.config.Clock, Pools: h.pools})
	h.index.Listen(h.streams.Changed)
}

// makeFleet creates the fleet, and the follower that moves services to new heads.
func makeFleet(h *Hub, key []byte) (err error) {
	c, from := h.config, newSources(h)
	h.fleet, err = fleet.New(fleet.Config{
		Store: store.Fleet(h.store), Moves: h.store, Writer: h.store, Sources: from, Sealer: h.store.Sealer(), Configuration: h.values, Dependencies: depend.New(h.store), Objects: console.Objects,
		DigestKey: key, Clock: c.Clock, Log: c.Log,
	})
	if err != nil {
		return err
	}
	follower := &follow.Follower{Fleet: h.fleet, Moves: h.store, Writer: h.store, Sources: from, Clock: c.Clock}
	h.globals = globals.New(globals.Config{
		Fleet: fleet.Templates{Fleet: h.fleet}, Rows: store.Fleet(h.store), Moves: h.store, Sources: from, Writer: h.store,
		Store: h.store, Bindings: h.store, Work: h.store, Targets: h.store, States: h.store, Holds: h.store, Rollouts: h.store, Waves: h.store, Clock: c.Clock, Log: c.Log,
	})
	h.rollouts = globals.NewRollouts(h.globals, func(clusterID string, interval int64) fleet.Freshness {
		h.fleet.Polls.SetInterval(clusterID, interval)
		fresh, _ := h.fleet.Freshness(clusterID)
		return fresh
	})
	h.namespaces = namespaces.New(namespaces.Config{Globals: h.globals, Fleet: fleet.Templates{Fleet: h.fleet}, Rows: store.Fleet(h.store), Store: h.store})
	h.heads = newHeads(h.cache.Changed, h.cache.LookAgain, c.Clock, c.Log, all(h.fleet.SettleLimits), h.globals.SpreadSome, all(follower.FollowHeads))
	return nil
}

func (h *Hub) newCache() (*gitcache.Cache, error) {
	c := h.config
	level, err := c.level()
	if err != nil {
		return nil, err
	}
	return gitcache.New(gitcache.Config{
		Store: h.store, Dir: c.cacheDir(), Replica: h.replica, Replicas: h.replicas.forCache(h.store),
		PollInterval: c.RepoPollInterval, AllowUpstreamCIDRs: c.AllowUpstreamCIDRs, AllowUpstreamHosts: c.AllowUpstreamHosts, AllowHTTP: c.AllowHTTPUpstreams,
		Guard: c.GitGuard, CacheBytes: c.CacheBytes, MirrorBytes: c.MirrorBytes, MirrorsBytes: c.MirrorsBytes, Level: level, Log: c.Log, Clock: c.Clock, Registerer: h.registry, Pools: h.pools,
	})
}

// makeEdges creates the edges that answer requests.
func (h *Hub) makeEdges() error {
	previews := refs.New(h.store, h.fleet, h.cache, h.config.Clock)
	agents, err := agentapi.New(agentapi.Config{
		Identity: h.callers.Identity, Keys: h.callers.AgentKeys, Fleet: announcedFleet{h.fleet, h.replicas}, Desired: h.desired, Tarballs: h.agents.packages, Feed: h.feed, Children: h.clusters, Audit: h.audit, Previews: previews, Replica: h.replica, Clock: h.config.Clock, Log: h.log, Registerer: h.registry, Pools: h.pools, Project: h.projectOf,
	})
	if err != nil {
		return err
	}
	if h.login, err = h.newLogin(); err != nil {
		return err
	}
	if h.signin, err = newSignin(h); err != nil {
		return err
	}
	h.feed.Subscribe(h.signin)
	people, err := newConsole(h, previews)
	if err != nil {
		return err
	}
	h.readiness = &readiness{parts: []readyPart{{"feed", h.feed.Ready}, {"desired", h.desired.Ready}, {"gitcache", h.cache.Ready}, {"changes", h.replicas.behind.Ready}}}
	mux := &h.routes
	mux.Early(func(path string) bool { return path == tunnel.Path }, h.tunnels, tunnel.Path)
	mux.Early(agentapi.Owns, agents, agents.Patterns()...)
	mux.Early(authproxy.Owns, h.proxy, authproxy.Prefix, authproxy.TicketPath)
	mux.HandleFunc("GET /healthz", healthz)
	mux.Handle("GET /readyz", h.readiness)
	h.restRoute(mux)
	mux.Handle("GET "+static.DocsPrefix, static.Docs(h.config.Docs))
	terraform.New(terraform.Config{Dir: h.config.TerraformProviders, Key: terraformKey(h.store), Log: h.log}).Register(mux)
	if h.metricsListener == nil {
		mux.Handle("GET /metrics", metricsHandler(h.registry))
	}
	if err := h.peerRoutes(mux); err != nil {
		return err
	}
	h.tunnelRoutes(mux)
	h.hooks, err = webhook.New(webhook.Config{Hooks: h.store, Repositories: h.cache, Clock: h.config.Clock, Log: h.log, Registerer: h.registry, Pools: h.pools})
	if err != nil {
		return err
	}
	mux.Handle(webhook.Pattern, h.hooks)
	people.Register(mux)
	h.login.Register(mux)
	h.signin.Register(mux)
	pages := static.NewConsole(h.config.Console, h.URL(), mux.Patterns())
	mux.Handle("/", pages)
	h.handler = behindProxies(h.config.TrustedProxies, tracing.Handler(h.proxy.Raw(h.exposed(h.clustersOrigin(mux))), pages.Kind))
	return nil
}

// URL returns the hub's URL.
func (h *Hub) URL() string { return h.config.externalURL(h.addr) }

// Routes returns the patterns of all routes of the hub's listener.
func (h *Hub) Routes() []string { return h.routes.Patterns() }

// Addr returns the address that the hub listens on.
func (h *Hub) Addr() string { return h.addr.String() }

// ServeHTTP answers one request like the hub's listener.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.handler.ServeHTTP(w, r) }

// SetupTokenFile returns the path of the setup token, which exists until the
// hub is set up.
func (h *Hub) SetupTokenFile() string { return h.setup.Path }

// CAFile returns the path of the certificate authority of --dev-ca or --tls-ca, empty
// without either.
func (h *Hub) CAFile() string {
	if !h.config.DevCA {
		return h.config.TLSCA
	}
	return h.config.authorityPath()
}

// Ready returns nil once the hub can answer.
func (h *Hub) Ready() error {
	for _, p := range h.readiness.parts {
		if err := p.ready(); err != nil {
			return err
		}
	}
	return nil
}

// Close releases everything that New opened. Run calls it; only a hub that was
// never run needs it.
func (h *Hub) Close() error {
	var errs []error
	for _, l := range []net.Listener{h.listener, h.metricsListener} {
		if l != nil {
			if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
				errs = append(errs, err)
			}
		}
	}
	if h.audit != nil {
		errs = append(errs, h.audit.Close())
	}
	if h.store != nil {
		errs = append(errs, h.store.Close())
	}
	if h.folder != nil {
		errs = append(errs, h.folder.Close())
	}
	h.listener, h.metricsListener, h.store, h.folder = nil, nil, nil, nil
	return errors.Join(errs...)
}

// Metrics returns a collector of all metrics of the hub.
func (h *Hub) Metrics() prometheus.Collector { return h.registry }

// Pools returns all pools of the hub.
func (h *Hub) Pools() *pool.Set { return h.pools }

// Parts are the domain parts of a running hub.
type Parts struct {
	wiring.Parts
	Store   *store.Store
	Feed    *event.Feed
	Cache   *gitcache.Cache
	Fleet   *fleet.Fleet
	Desired *desired.Index
	Index   *index.Index

	Applications *application.Applications
}

// Parts returns the hub's domain parts, for tests that bypass its edges.
func (h *Hub) Parts() Parts {
	return Parts{Store: h.store, Feed: h.feed, Cache: h.cache, Fleet: h.fleet, Parts: h.callers, Desired: h.desired, Index: h.index, Applications: h.applications}
}
