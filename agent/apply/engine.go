package apply

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// Live is what is known of the cluster without asking it; *drift.Watcher is
// one.
type Live interface {
	// Watch names all kinds that any service applies, each time they change.
	Watch(kinds []kubeobj.Kind)
	// Lookup returns an object that carries our label, and whether absence
	// means anything.
	Lookup(kind kubeobj.Kind, ref kubeobj.Ref) (live kubeobj.Live, found, synced bool)
	// Note takes what an apply answered, ahead of the watch.
	Note(kind kubeobj.Kind, ref kubeobj.Ref, live kubeobj.Live)
	// Recheck compares objects again whose expectation has changed.
	Recheck(refs []kubeobj.Ref)
}

// Config is what an Engine needs.
type Config struct {
	// REST reaches the API server.
	REST *rest.Config
	// ClusterID goes into the managed label. Objects that carry another
	// cluster's id are refused.
	ClusterID string
	// Namespace holds the inventories; axle-system when empty.
	Namespace string
	// Live may be nil: then the engine asks the API server each time.
	Live Live
	// Concurrency bounds writes of one pass that are under way together; 8
	// when zero. It shrinks while the API server answers 429.
	Concurrency int
	// HealthWait is how long a pass may wait for health before it fails; 10
	// minutes when zero, none when negative.
	HealthWait time.Duration
	// Clock is the real one when nil.
	Clock clock.Clock
	// Log is silent when nil.
	Log *slog.Logger
}

// Engine applies services. It is safe for concurrent use; passes of one
// service run one after the other.
type Engine struct{}

// New returns an Engine. Load must run before the first Pass.
func New(cfg Config) (*Engine, error) { return nil, errcode.New(errcode.Internal, "not made yet") }

// Load reads the inventories of all services with one list. An unavailable API
// server is Unavailable; try again.
func (e *Engine) Load(ctx context.Context) error { return nil }

// Services returns the ids of all services that have an inventory.
func (e *Engine) Services() []string { return nil }

// State returns what the service's inventory says; false when it has none.
func (e *Engine) State(service string) (State, bool) { return State{}, false }

// Objects returns the objects of a service as they were applied, for
// drift.Watcher.Components.
func (e *Engine) Objects(service string) []kubeobj.Expected { return nil }

// Expected returns one object as it was applied.
func (e *Engine) Expected(ref kubeobj.Ref) (kubeobj.Expected, bool) { return kubeobj.Expected{}, false }

// ExpectedOf returns all applied objects of a kind.
func (e *Engine) ExpectedOf(kind kubeobj.Kind) []kubeobj.Expected { return nil }

// Pass makes the cluster hold exactly objects for the service. An error means
// that nothing could be known or remembered (the API server is away, the
// inventory could not be written); what happened to single objects is in the
// Result.
func (e *Engine) Pass(ctx context.Context, service Service, objects []*unstructured.Unstructured) (Result, error) {
	return Result{}, nil
}

// Pause stops heals of a service until the next Pass; for a paused service.
func (e *Engine) Pause(service string) {}

// Heal applies some objects again, as they were rendered last. NotFound: the
// service has not been rendered since the start and needs a Pass. Conflict:
// the object is somebody else's.
func (e *Engine) Heal(ctx context.Context, service string, refs []kubeobj.Ref) error { return nil }

// Drain deletes everything in the service's inventory in reverse order, with
// the guards of a prune, then the inventory. Call it again until Done.
func (e *Engine) Drain(ctx context.Context, service Service) (DrainResult, error) {
	return DrainResult{}, nil
}

// Detach removes our marks from everything in the service's inventory, leaves
// the objects, then deletes the inventory. Call it again until Done.
func (e *Engine) Detach(ctx context.Context, service Service) (DrainResult, error) {
	return DrainResult{}, nil
}

// DrainResult says how far a service has left. For a service without an
// inventory it is Done at once.
type DrainResult struct {
	Done bool
	// Remaining counts objects that still wait (for a finalizer, a permission).
	Remaining int
	// Deleted counts objects that are gone, Left those that were left alone
	// because they are not ours any more or are never deleted.
	Deleted, Left int
	// Message is one sentence for a person, scrubbed.
	Message  string
	Problems []Problem
}
