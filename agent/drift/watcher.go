package drift

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/kubepage"
	"github.com/axle-cd/axle/internal/pool"
)

// Owner applied the objects; *apply.Engine implements it.
type Owner interface {
	// Expected returns an object as the last apply left it, false if no service has
	// it.
	Expected(ref kubeobj.Ref) (kubeobj.Expected, bool)
	// ExpectedOf returns all objects of a kind, Objects those of a service.
	ExpectedOf(kind kubeobj.Kind) []kubeobj.Expected
	Objects(service string) []kubeobj.Expected
	// Heal applies some objects of a service again, as they were last rendered.
	// NotFound: the rendered objects are not in memory (the agent has just started)
	// and the service needs a pass. Conflict: the object belongs to somebody else
	// now. It returns the healed objects, also with an error.
	Heal(ctx context.Context, service string, refs []kubeobj.Ref) ([]kubeobj.Healed, error)
}

// Config is what a Watcher needs.
type Config struct {
	// REST reaches the API server.
	REST *rest.Config
	// ClusterID is the value of the managed label that is watched.
	ClusterID string
	// Rules judge objects; nil means the built-in rules.
	Rules *health.Rules
	// Expressions evaluates rules in CEL; without it their objects are Unknown.
	Expressions Expressions
	// Project returns the project of a service, whose heals have turns with those of other
	// projects; nil is one project.
	Project func(service string) string
	// Pools takes the pool of services that are healed; nil shows none.
	Pools *pool.Set
	// Changed gets the id of a service whose drift or health changed. It must not
	// block. May be nil.
	Changed func(service string)
	// NeedPass gets the id of a service that must be rendered again before it can be
	// healed. It must not block. May be nil.
	NeedPass func(service string)
	// Clock is the real one when nil.
	Clock clock.Clock
	// Log is silent when nil.
	Log *slog.Logger
}

// Watcher holds the watches and their state. It is safe for concurrent use.
type Watcher struct {
	cfg  Config
	rest rest.Interface
	// heals bounds the heals of all objects together.
	heals *rate.Limiter
	wake  chan struct{}
	// healWake wakes the goroutine that heals.
	healWake chan struct{}
	// healers are the services that are healed, by project.
	healers *pool.Places

	mu    sync.Mutex
	owner Owner
	// ctx is Run's, nil before it.
	ctx   context.Context
	kinds map[schema.GroupKind]*kindWatch
	// dirty are objects to be judged; marks are those with a history.
	dirty map[kubeobj.Ref]bool
	marks map[kubeobj.Ref]*mark
	// marksOf are the same by service, and marksDue is when they are scanned next.
	marksOf  map[string]map[kubeobj.Ref]*mark
	marksDue time.Time
	// looks counts scanned marks, for a test.
	looks int
	// rootCauses are the root causes in the pods of unhealthy workloads.
	rootCauses map[kubeobj.Ref]knownCause
	// stalls are objects with a deadline that are Progressing.
	stalls map[kubeobj.Ref]stall
	// naming are objects whose added fields wait to be named.
	naming *naming
	// healing are objects to be healed, by service.
	healing map[string]map[kubeobj.Ref]bool
	// beingHealed are the services that the owner is asked to heal now.
	beingHealed map[string]bool
	// changed are services to report as changed.
	changed map[string]bool
	// asks are questions for the evaluation of CEL rules.
	asks    asks
	running sync.WaitGroup
}

// name is an object within its kind.
type name struct{ namespace, name string }

// kindWatch is the watch of one kind and what it saw.
type kindWatch struct {
	kind kubeobj.Kind
	// whole: the kind has a health rule. custom: a user wrote it.
	whole, custom bool
	// state is syncing, synced or unknown; message says why it is unknown.
	state   watchState
	message string
	// compareAt is when the objects of an unknown kind are compared one by one.
	compareAt time.Time
	objects   map[name]kubeobj.Live
	// judged are objects whose health is the verdict of a CEL rule.
	judged map[name]asked
	// settled is closed once the first attempt has ended, whether it succeeded or
	// not.
	settled chan struct{}
	cancel  context.CancelFunc
}

type watchState int

const (
	syncing watchState = iota
	synced
	unknown
)

// New returns a Watcher that watches nothing until Run.
func New(cfg Config) (*Watcher, error) {
	if cfg.REST == nil || cfg.ClusterID == "" {
		return nil, errcode.New(errcode.Invalid, "drift: REST and ClusterID are required")
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.Real{}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Changed == nil {
		cfg.Changed = func(string) {}
	}
	if cfg.Project == nil {
		cfg.Project = func(string) string { return "" }
	}
	if cfg.NeedPass == nil {
		cfg.NeedPass = func(string) {}
	}
	client, err := kubepage.NewClient(cfg.REST)
	if err != nil {
		return nil, err
	}
	w := &Watcher{cfg: cfg, rest: client, heals: rate.NewLimiter(healRate, healRate), wake: make(chan struct{}, 1), healWake: make(chan struct{}, 1),
		kinds: map[schema.GroupKind]*kindWatch{}, dirty: map[kubeobj.Ref]bool{}, marks: map[kubeobj.Ref]*mark{}, marksOf: map[string]map[kubeobj.Ref]*mark{}, rootCauses: map[kubeobj.Ref]knownCause{}, stalls: map[kubeobj.Ref]stall{},
		healing: map[string]map[kubeobj.Ref]bool{}, beingHealed: map[string]bool{}, changed: map[string]bool{},
		healers: cfg.Pools.Places(pool.Spec{Name: "heals", Of: "services that are healed", Size: pool.SizeFor(healersEach)})}
	w.naming = newNaming(w)
	return w, nil
}

// Run opens the watches named by Watch, decides and asks owner to heal, until
// the context ends. It may be called once.
func (w *Watcher) Run(ctx context.Context, owner Owner) error {
	w.mu.Lock()
	w.owner, w.ctx = owner, ctx
	for _, k := range w.kinds {
		w.startLocked(k)
	}
	w.mu.Unlock()
	w.running.Go(func() { w.heal(ctx) })
	w.running.Go(func() { w.findRootCauses(ctx) })
	w.running.Go(func() { w.naming.run(ctx) })
	w.decide(ctx)
	w.running.Wait()
	return ctx.Err()
}

// Watch sets the kinds to watch from now on. It returns at once. A kind that was
// already watched keeps its watch; one that is no longer named loses it. Of two
// versions of one kind the first is watched.
func (w *Watcher) Watch(kinds []kubeobj.Kind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	want := map[schema.GroupKind]kubeobj.Kind{}
	for _, kind := range kinds {
		if _, twice := want[kind.GroupKind()]; !twice {
			want[kind.GroupKind()] = kind
		}
	}
	for gk, k := range w.kinds {
		if _, still := want[gk]; !still {
			if k.cancel != nil {
				k.cancel()
			}
			w.dropQuestionsLocked(k.kind)
			delete(w.kinds, gk)
		}
	}
	for gk, kind := range want {
		if w.kinds[gk] != nil {
			continue
		}
		k := w.newKindWatch(kind)
		w.kinds[gk] = k
		if w.ctx != nil {
			w.startLocked(k)
		}
	}
}

func (w *Watcher) startLocked(k *kindWatch) {
	ctx, cancel := context.WithCancel(w.ctx)
	k.cancel = cancel
	w.running.Go(func() { w.follow(ctx, k) })
}

// Wait blocks until the watches of kinds are in sync, are known not to be soon, or
// the context ends. Run must be running.
func (w *Watcher) Wait(ctx context.Context, kinds []kubeobj.Kind) {
	for _, kind := range kinds {
		w.mu.Lock()
		k := w.kinds[kind.GroupKind()]
		w.mu.Unlock()
		if k == nil {
			continue
		}
		select {
		case <-k.settled:
		case <-ctx.Done():
			return
		}
	}
}

// Synced reports whether the watch of a kind has delivered everything.
func (w *Watcher) Synced(kind kubeobj.Kind) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.kinds[kind.GroupKind()]
	return k != nil && k.state == synced
}

// Lookup returns an object with our label, and whether its kind's watch is in sync:
// only then does absence mean that the object does not exist.
func (w *Watcher) Lookup(kind kubeobj.Kind, ref kubeobj.Ref) (live kubeobj.Live, found, inSync bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.kinds[kind.GroupKind()]
	if k == nil || k.state != synced {
		return kubeobj.Live{}, false, false
	}
	live, found = k.objects[name{ref.Namespace, ref.Name}]
	return live, found, true
}

// justApplied is the message of an object until its rule has judged it.
const justApplied = "it has just been applied"

// Note stores the answer to an apply, before the watch event. The answer has no
// health, so an object of a kind with a health rule is Progressing until the watch
// delivers it.
func (w *Watcher) Note(kind kubeobj.Kind, ref kubeobj.Ref, live kubeobj.Live) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.kinds[kind.GroupKind()]
	if k == nil || live.Cluster != w.cfg.ClusterID {
		return
	}
	at := name{ref.Namespace, ref.Name}
	if old, had := k.objects[at]; had && newer(old.ResourceVersion, live.ResourceVersion) {
		w.appliedLocked(k, ref, old)
		return
	}
	if k.whole {
		live.Health, live.Message = "Progressing", justApplied
	}
	k.objects[at] = w.intern(live)
	w.paceLocked(ref, live)
	w.dirtyLocked(ref)
}

// Recheck judges objects again whose expected state changed in a pass.
func (w *Watcher) Recheck(refs []kubeobj.Ref) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ref := range refs {
		w.dirtyLocked(ref)
	}
}

func (w *Watcher) dirtyLocked(ref kubeobj.Ref) {
	w.dirty[ref] = true
	poke(w.wake)
}
