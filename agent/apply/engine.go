package apply

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/kubeclient"
	"github.com/axle-cd/axle/agent/apply/ownership"
	"github.com/axle-cd/axle/agent/apply/plan"
	"github.com/axle-cd/axle/agent/apply/write"
	"github.com/axle-cd/axle/agent/difference"
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/logkey"
)

// Live is what is known of the cluster without a request; *drift.Watcher implements
// it.
type Live interface {
	// Watch receives all kinds that any service applies, each time they change.
	Watch(kinds []kubeobj.Kind)
	// Wait blocks until the watches of kinds are in sync, or are known not to be
	// soon.
	Wait(ctx context.Context, kinds []kubeobj.Kind)
	// Lookup returns an object with our label, and whether its absence is certain
	// (synced).
	Lookup(kind kubeobj.Kind, ref kubeobj.Ref) (live kubeobj.Live, found, synced bool)
	// Note takes the answer to an apply, before the watch delivers it.
	Note(kind kubeobj.Kind, ref kubeobj.Ref, live kubeobj.Live)
	// Recheck compares objects again after their expected state changed.
	Recheck(refs []kubeobj.Ref)
}

// Config is what an Engine needs.
type Config struct {
	// REST reaches the API server as the agent, for inventories and discovery. For
	// services their permits are used.
	REST *rest.Config
	// ClusterID goes into the managed label. Objects with another cluster's id are
	// refused.
	ClusterID string
	// Namespace holds the inventories; axle-system when empty. It must exist.
	Namespace string
	// Live may be nil: then the engine asks the API server each time.
	Live Live
	// Concurrency bounds concurrent requests of all passes; 10 when zero. It shrinks
	// while the API server answers 429.
	Concurrency int
	// HealthWait is how long a pass waits for health before it fails; 10
	// minutes when zero, none when negative.
	HealthWait time.Duration
	// Step is for how long one call of Pass starts new writes; 10 s when zero.
	Step time.Duration
	// NeedPass gets the id of a service that was given an object and needs a pass
	// now. It must not block. May be nil.
	NeedPass func(service string)
	// Clock is the real one when nil.
	Clock clock.Clock
	// Log is silent when nil.
	Log *slog.Logger
}

// Defaults for fields of Config.
const (
	defaultConcurrency = 10
	defaultHealthWait  = 10 * time.Minute
	defaultNamespace   = "axle-system"
)

// Engine applies services. It is safe for concurrent use; passes of one
// service run one after the other.
type Engine struct {
	cfg   Config
	gate  *kubeclient.Gate
	kinds *kubeclient.Kinds
	store *inventory.Store
	// owners knows which service has an object.
	owners *ownership.Registry
	// clients make requests for services.
	clients tenancy.Clients[*kubeclient.Client]

	// watching is held while the watches are told the kinds, so that an older set
	// never replaces a newer one.
	watching sync.Mutex
	// masker hides secret values in diffs.
	masker *difference.Masker
	// written is what the writers of all services share.
	written *write.Common

	// kept are the inputs of the services' last passes, for heals.
	kept keeper
}

// New returns an Engine. Load must run before the first Pass.
func New(cfg Config) (*Engine, error) {
	if cfg.REST == nil || cfg.ClusterID == "" {
		return nil, errcode.New(errcode.Invalid, "apply: REST and ClusterID are required")
	}
	if cfg.Namespace == "" {
		cfg.Namespace = defaultNamespace
	}
	if cfg.Concurrency <= 0 {
		cfg.Concurrency = defaultConcurrency
	}
	if cfg.HealthWait == 0 {
		cfg.HealthWait = defaultHealthWait
	}
	if cfg.Step == 0 {
		cfg.Step = defaultStep
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.Real{}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Live == nil {
		cfg.Live = blind{}
	}
	if cfg.NeedPass == nil {
		cfg.NeedPass = func(string) {}
	}
	e := &Engine{cfg: cfg, gate: kubeclient.NewGate(cfg.Concurrency), owners: ownership.NewRegistry(cfg.ClusterID), masker: difference.NewMasker(), kept: keeper{all: map[string]kept{}}}
	e.clients.Make = func(cfg *rest.Config) (*kubeclient.Client, error) {
		s, err := kubeclient.NewSender(cfg, e.gate)
		return &kubeclient.Client{Sender: s}, err
	}
	own, err := kubeclient.NewSender(cfg.REST, e.gate)
	if err != nil {
		return nil, err
	}
	if e.kinds, err = kubeclient.NewKinds(cfg.REST, cfg.Clock); err != nil {
		return nil, err
	}
	e.written = write.NewCommon(cfg.Live, e.owners, e.kinds, cfg.Clock)
	e.store = &inventory.Store{Client: own, Namespace: cfg.Namespace, Cluster: cfg.ClusterID}
	return e, nil
}

// Load reads the inventories of all services with one list. It returns Unavailable if
// the API server is; try again.
func (e *Engine) Load(ctx context.Context) error {
	all, broken, err := e.store.List(ctx, "")
	if err != nil {
		return err
	}
	for id, err := range broken {
		e.cfg.Log.Error("cannot read an inventory", logkey.Service, id, logkey.Error, err)
		e.owners.Unread(id)
	}
	for _, i := range all {
		e.adoptInventory(i)
	}
	e.watch()
	return nil
}

// APIsChanged says that the kinds that the cluster serves changed.
func (e *Engine) APIsChanged() { e.kinds.AskNow() }

// watch tells the watches the present kinds.
func (e *Engine) watch() {
	e.watching.Lock()
	defer e.watching.Unlock()
	e.cfg.Live.Watch(e.owners.WatchedKinds())
}

// adoptInventory stores an inventory that was read in memory.
func (e *Engine) adoptInventory(i *inventory.Inventory) {
	e.owners.Adopt(i)
	for _, entry := range i.Entries {
		e.kinds.Learn(entry.Kind)
	}
}

// Services returns the ids of all services that have an inventory.
func (e *Engine) Services() []string { return e.owners.ServiceIDs() }

// Objects returns the objects of a service as they were applied, in order of
// application, for drift.Watcher.Components.
func (e *Engine) Objects(service string) []kubeobj.Expected { return e.owners.Objects(service) }

// Expected returns one object as it was applied.
func (e *Engine) Expected(ref kubeobj.Ref) (kubeobj.Expected, bool) {
	return e.owners.Expected(ref)
}

// ExpectedOf returns all applied objects of a kind.
func (e *Engine) ExpectedOf(kind kubeobj.Kind) []kubeobj.Expected { return e.owners.ExpectedOf(kind) }

// Pause stops heals of a paused service until the next Pass.
func (e *Engine) Pause(service string) { e.owners.Pause(service) }

// State returns what the service's inventory says; false if it has none.
func (e *Engine) State(service string) (State, bool) {
	i := e.owners.InventoryOf(service)
	if i == nil {
		return State{}, false
	}
	return State{ServiceID: service, Name: i.Name, Namespace: i.Namespace, TarballDigest: i.TarballDigest, SpecDigest: i.SpecDigest, Seen: i.Seen, Settings: i.Settings,
		Phase: i.Phase, Objects: len(i.Entries), AppliedAt: i.AppliedAt, PruneApproval: i.Approval,
		SyncRequest: i.SyncRequest, User: i.User, Hooks: i.Hooks()}, true
}

// clientOf returns the client that acts with a service's permit. Forbidden if the
// permit is zero or belongs to another service.
func (e *Engine) clientOf(permit tenancy.Permit, service Service) (*kubeclient.Client, error) {
	if permit.Service() != service.ID || service.ID == "" {
		return nil, errcode.New(errcode.Forbidden, "service %s has no permit", service.ID)
	}
	return e.clients.For(permit)
}

func (e *Engine) planner(service Service, permit tenancy.Permit, before *inventory.Inventory) plan.Planner {
	return plan.Planner{Kinds: e.kinds, Cluster: e.cfg.ClusterID, Service: service, Permit: permit, Before: before}
}

// blind is the Live of an engine without one.
type blind struct{}

func (blind) Watch([]kubeobj.Kind)                                                  {}
func (blind) Wait(context.Context, []kubeobj.Kind)                                  {}
func (blind) Note(kubeobj.Kind, kubeobj.Ref, kubeobj.Live)                          {}
func (blind) Recheck([]kubeobj.Ref)                                                 {}
func (blind) Lookup(kubeobj.Kind, kubeobj.Ref) (l kubeobj.Live, found, synced bool) { return }
