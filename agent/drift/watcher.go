package drift

import (
	"context"
	"log/slog"

	"k8s.io/client-go/rest"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// Owner is who applied the objects; *apply.Engine is one.
type Owner interface {
	// Expected returns an object as it was left by the last apply, false when
	// no service has it.
	Expected(ref kubeobj.Ref) (kubeobj.Expected, bool)
	// ExpectedOf returns all objects of a kind.
	ExpectedOf(kind kubeobj.Kind) []kubeobj.Expected
	// Heal applies some objects of a service again, as they were rendered
	// last. NotFound: the rendered objects are not in memory (the agent has
	// just started) and the service needs a pass. Conflict: the object is
	// somebody else's now.
	Heal(ctx context.Context, service string, refs []kubeobj.Ref) error
}

// Config is what a Watcher needs.
type Config struct {
	// REST reaches the API server.
	REST *rest.Config
	// ClusterID is the value of the managed label that is watched.
	ClusterID string
	// Changed is told the id of a service whose drift or health is not what it
	// was. It must not block. Nil is nobody.
	Changed func(service string)
	// NeedPass is told the id of a service that cannot be healed without being
	// rendered again. It must not block. Nil is nobody.
	NeedPass func(service string)
	// Clock is the real one when nil.
	Clock clock.Clock
	// Log is silent when nil.
	Log *slog.Logger
}

// Watcher holds the watches and what they saw. It is safe for concurrent use.
type Watcher struct{}

// New returns a Watcher that watches nothing until Run.
func New(cfg Config) (*Watcher, error) {
	return nil, errcode.New(errcode.Internal, "not made yet")
}

// Run opens the watches named by Watch, decides and asks owner to heal, until
// the context ends.
func (w *Watcher) Run(ctx context.Context, owner Owner) error { return ctx.Err() }

// Watch says which kinds to watch from now on. It returns at once; a kind that
// was watched already keeps its watch, one that is not named any more loses
// it.
func (w *Watcher) Watch(kinds []kubeobj.Kind) {}

// Synced reports whether the watch of a kind has seen everything.
func (w *Watcher) Synced(kind kubeobj.Kind) bool { return false }

// Lookup returns an object that carries our label, and whether its kind's
// watch is in sync: only then does absence mean that no such object is there.
func (w *Watcher) Lookup(kind kubeobj.Kind, ref kubeobj.Ref) (live kubeobj.Live, found, synced bool) {
	return kubeobj.Live{}, false, false
}

// Note takes over what an apply answered, ahead of the watch event.
func (w *Watcher) Note(kind kubeobj.Kind, ref kubeobj.Ref, live kubeobj.Live) {}

// Recheck decides anew about objects whose expectation has changed, after a
// pass.
func (w *Watcher) Recheck(refs []kubeobj.Ref) {}

// State says what drift found for one object.
type State string

// The states of a Finding.
const (
	// Drifted: the object is not as it was applied, and is healed or, where
	// only people's additions differ, reported.
	Drifted State = "Drifted"
	// Contested: healed too often; somebody else writes it too.
	Contested State = "Contested"
	// Unknown: the kind cannot be watched.
	Unknown State = "Unknown"
)

// Finding is one object that is not known to be as it should.
type Finding struct {
	Ref     kubeobj.Ref
	State   State
	Message string
}

// Findings returns what is wrong with a service's objects, worst first; none
// means that all are known to be as they were applied.
func (w *Watcher) Findings(service string) []Finding { return nil }

// Components returns the state of the objects for health.RollUp and
// health.Pack. Objects of kinds that cannot be watched are Unknown.
func (w *Watcher) Components(objects []kubeobj.Expected) []*agentv1.Component { return nil }
