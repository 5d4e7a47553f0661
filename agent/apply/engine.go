package apply

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"

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
	cfg    Config
	gate   *gate
	kinds  *kinds
	store  *store
	former registrations
	// clients make requests for services.
	clients tenancy.Clients[*client]

	mu       sync.RWMutex
	services map[string]*serviceState
	// owner is the service whose inventory has an object. While an object moves, the
	// last inventory written wins.
	owner map[kubeobj.Ref]string
	// shared holds the services of objects in more than one inventory: a few, while
	// they move.
	shared map[kubeobj.Ref]map[string]bool
	// inUse counts, per kind, the services that have it in their inventory or their
	// present pass.
	inUse map[kubeobj.Kind]int
	// watching is held while the watches are told the kinds, so that an older set
	// never replaces a newer one.
	watching sync.Mutex
	// spaces holds namespaces that were created or found, with the requested
	// settings.
	spaces map[string]string
	// masker hides secret values in diffs.
	masker *difference.Masker
	// claims are objects that services render and other services have.
	claims *claims
	// rewrites are the times of recent writes that put objects back.
	rewrites map[kubeobj.Ref][]time.Time
}

// serviceState is one service in memory.
type serviceState struct {
	// pass is held while a pass, a heal or a drain runs.
	pass sync.Mutex

	// The fields below are guarded by Engine.mu.
	inventory *inventory
	// running: a pass is running. paused: nothing may be put back. stale: the
	// inventory must be read again.
	running, paused, stale bool
	// claimed are the kinds of the present pass, has those of the inventory.
	claimed []kubeobj.Kind
	has     map[kubeobj.Kind]bool
	// targets are what the service's autoscalers scale.
	targets map[kubeobj.Ref]bool
	// rendered is the input of the last pass, for heals.
	rendered rendered
	service  Service
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
	e := &Engine{cfg: cfg, gate: newGate(cfg.Concurrency), services: map[string]*serviceState{},
		owner: map[kubeobj.Ref]string{}, shared: map[kubeobj.Ref]map[string]bool{}, inUse: map[kubeobj.Kind]int{}, claims: newClaims(), spaces: map[string]string{}, masker: difference.NewMasker()}
	e.clients.Make = func(cfg *rest.Config) (*client, error) {
		s, err := newSender(cfg, e.gate)
		return &client{s}, err
	}
	own, err := newSender(cfg.REST, e.gate)
	if err != nil {
		return nil, err
	}
	if e.kinds, err = newKinds(cfg.REST, cfg.Clock); err != nil {
		return nil, err
	}
	e.store = &store{client: own, namespace: cfg.Namespace, cluster: cfg.ClusterID}
	return e, nil
}

// Load reads the inventories of all services with one list. It returns Unavailable if
// the API server is; try again.
func (e *Engine) Load(ctx context.Context) error {
	all, broken, err := e.store.list(ctx, "")
	if err != nil {
		return err
	}
	for id, err := range broken {
		e.cfg.Log.Error("cannot read an inventory", logkey.Service, id, logkey.Error, err)
		e.mu.Lock()
		e.stateLocked(id).stale = true
		e.mu.Unlock()
	}
	for id, i := range all {
		e.adoptInventory(id, i)
	}
	e.watch()
	return nil
}

// APIsChanged says that the kinds that the cluster serves changed.
func (e *Engine) APIsChanged() { e.kinds.askNow() }

// watch tells the watches the present kinds.
func (e *Engine) watch() {
	e.watching.Lock()
	defer e.watching.Unlock()
	e.cfg.Live.Watch(e.watchedKinds())
}

// adoptInventory stores an inventory that was read in memory.
func (e *Engine) adoptInventory(id string, i *inventory) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.stateLocked(id)
	t.stale = false
	e.commitLocked(t, i)
	for _, entry := range i.entries {
		e.kinds.learn(entry.kind)
	}
}

func (e *Engine) stateLocked(id string) *serviceState {
	t := e.services[id]
	if t == nil {
		t = &serviceState{}
		e.services[id] = t
	}
	return t
}

// commitLocked makes i the service's known inventory.
func (e *Engine) commitLocked(t *serviceState, i *inventory) {
	var before map[kubeobj.Ref]entry
	if t.inventory != nil {
		before = t.inventory.entries
	}
	for ref, entry := range i.entries {
		if _, had := before[ref]; !had {
			e.shareLocked(ref, i.service)
		}
		if !entry.leaving || e.owner[ref] == "" {
			e.owner[ref] = i.service
		}
	}
	for ref := range before {
		if _, still := i.entries[ref]; !still {
			e.disownLocked(ref, i.service)
		}
	}
	t.inventory = i
	has := map[kubeobj.Kind]bool{}
	for _, entry := range i.entries {
		has[entry.kind] = true
	}
	e.countLocked(t, has)
}

// shareLocked records that one more inventory has an object.
func (e *Engine) shareLocked(ref kubeobj.Ref, service string) {
	owner := e.owner[ref]
	if owner == "" || owner == service {
		return
	}
	if e.shared[ref] == nil {
		e.shared[ref] = map[string]bool{owner: true}
	}
	e.shared[ref][service] = true
}

// disownLocked records that an inventory no longer has an object. The remaining one
// then owns it.
func (e *Engine) disownLocked(ref kubeobj.Ref, service string) {
	left := e.shared[ref]
	if delete(left, service); len(left) < 2 {
		delete(e.shared, ref)
	}
	if e.owner[ref] != service {
		return
	}
	delete(e.owner, ref)
	for id := range left {
		if e.hasLocked(id, ref) {
			e.owner[ref] = id
		}
	}
}

func (e *Engine) hasLocked(service string, ref kubeobj.Ref) bool {
	t := e.services[service]
	if t == nil || t.inventory == nil {
		return false
	}
	_, has := t.inventory.entries[ref]
	return has
}

// othersLocked returns the other services whose inventory has an object.
func (e *Engine) othersLocked(ref kubeobj.Ref, service string) []string {
	all := e.shared[ref]
	if len(all) == 0 {
		if owner := e.owner[ref]; owner != service && e.hasLocked(owner, ref) {
			return []string{owner}
		}
		return nil
	}
	var others []string
	for id := range all {
		if id != service && e.hasLocked(id, ref) {
			others = append(others, id)
		}
	}
	return others
}

// countLocked records which kinds a service has.
func (e *Engine) countLocked(t *serviceState, has map[kubeobj.Kind]bool) {
	for kind := range has {
		e.inUse[kind]++
	}
	for kind := range t.has {
		e.unuseLocked(kind)
	}
	t.has = has
}

// claimLocked records which kinds a service's pass has.
func (e *Engine) claimLocked(t *serviceState, claimed []kubeobj.Kind) {
	for _, kind := range claimed {
		e.inUse[kind]++
	}
	for _, kind := range t.claimed {
		e.unuseLocked(kind)
	}
	t.claimed = claimed
}

func (e *Engine) unuseLocked(kind kubeobj.Kind) {
	if e.inUse[kind]--; e.inUse[kind] == 0 {
		delete(e.inUse, kind)
	}
}

func (e *Engine) commit(t *serviceState, i *inventory) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.commitLocked(t, i)
}

// watchedKinds returns the kinds of all inventories and all running passes.
func (e *Engine) watchedKinds() []kubeobj.Kind {
	e.mu.RLock()
	defer e.mu.RUnlock()
	seen := map[kubeobj.Kind]bool{}
	for kind := range e.inUse {
		seen[kind] = true
	}
	return sortedKinds(seen)
}

// Services returns the ids of all services that have an inventory.
func (e *Engine) Services() []string {
	e.mu.RLock()
	defer e.mu.RUnlock()
	var ids []string
	for id, t := range e.services {
		if t.inventory != nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// State returns what the service's inventory says; false if it has none.
func (e *Engine) State(service string) (State, bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	t := e.services[service]
	if t == nil || t.inventory == nil {
		return State{}, false
	}
	i := t.inventory
	return State{ServiceID: service, Name: i.name, Namespace: i.namespace, TarballDigest: i.tarballDigest, SpecDigest: i.specDigest, Seen: i.seen, Settings: i.settings,
		Phase: i.phase, Objects: len(i.entries), AppliedAt: i.appliedAt, PruneApproval: i.approval,
		SyncRequest: i.syncRequest, User: i.user, Hooks: i.hooks()}, true
}

// hooks names a hook of the present revision that has not succeeded.
func (i *inventory) hooks() string {
	if i.phase != PhaseWaiting && i.phase != PhaseFailed {
		return ""
	}
	for _, e := range i.entries {
		if e.hook.runs && e.hook.key != 0 && e.hook.end != hookSucceeded && e.hook.moment != momentFail {
			return e.ref.String()
		}
	}
	return ""
}

// Objects returns the objects of a service as they were applied, in order of
// application, for drift.Watcher.Components.
func (e *Engine) Objects(service string) []kubeobj.Expected {
	e.mu.RLock()
	defer e.mu.RUnlock()
	t := e.services[service]
	if t == nil || t.inventory == nil {
		return nil
	}
	entries := t.inventory.sorted()
	slices.SortStableFunc(entries, func(a, b entry) int {
		if a.order.before(b.order) {
			return -1
		}
		if b.order.before(a.order) {
			return 1
		}
		return 0
	})
	var all []kubeobj.Expected
	for _, entry := range entries {
		// A hook that has not run, or was deleted after its run, is not an object.
		if !entry.leaving && (entry.uid != "" || !entry.hook.runs && entry.order.Stage < stageFail) {
			all = append(all, t.expected(entry))
		}
	}
	return all
}

// Expected returns one object as it was applied.
func (e *Engine) Expected(ref kubeobj.Ref) (kubeobj.Expected, bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	t := e.services[e.owner[ref]]
	if t == nil || t.inventory == nil {
		return kubeobj.Expected{}, false
	}
	entry, ok := t.inventory.entries[ref]
	if !ok || entry.leaving {
		return kubeobj.Expected{}, false
	}
	return t.expected(entry), true
}

// ExpectedOf returns all applied objects of a kind.
func (e *Engine) ExpectedOf(kind kubeobj.Kind) []kubeobj.Expected {
	e.mu.RLock()
	defer e.mu.RUnlock()
	var all []kubeobj.Expected
	for _, t := range e.services {
		if t.inventory == nil {
			continue
		}
		for _, entry := range t.inventory.entries {
			if entry.kind == kind && !entry.leaving {
				all = append(all, t.expected(entry))
			}
		}
	}
	return all
}

func (t *serviceState) expected(entry entry) kubeobj.Expected {
	return kubeobj.Expected{Ref: entry.ref, Kind: entry.kind, Service: t.inventory.service, UID: entry.uid, Print: entry.print,
		Once: entry.once, Strict: t.inventory.strict, Paused: t.paused, Held: t.running || entry.hash == 0 || t.inventory.phase == PhaseDraining || t.inventory.beyond(entry)}
}

// beyond reports whether a waiting pass has not reached an object yet. Such an object
// is not healed before the pass writes it.
func (i *inventory) beyond(e entry) bool {
	return (i.phase == PhaseWaiting || i.phase == PhaseFailed) && i.goal != "" && i.reached.before(e.order)
}

// Pause stops heals of a paused service until the next Pass.
func (e *Engine) Pause(service string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if t := e.services[service]; t != nil {
		t.paused = true
	}
}

// clientOf returns the client that acts with a service's permit. Forbidden if the
// permit is zero or belongs to another service.
func (e *Engine) clientOf(permit tenancy.Permit, service Service) (*client, error) {
	if permit.Service() != service.ID || service.ID == "" {
		return nil, errcode.New(errcode.Forbidden, "service %s has no permit", service.ID)
	}
	return e.clients.For(permit)
}

// blind is the Live of an engine without one.
type blind struct{}

func (blind) Watch([]kubeobj.Kind)                                                  {}
func (blind) Wait(context.Context, []kubeobj.Kind)                                  {}
func (blind) Note(kubeobj.Kind, kubeobj.Ref, kubeobj.Live)                          {}
func (blind) Recheck([]kubeobj.Ref)                                                 {}
func (blind) Lookup(kubeobj.Kind, kubeobj.Ref) (l kubeobj.Live, found, synced bool) { return }
