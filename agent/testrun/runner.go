package testrun

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/tenancy"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/scrub"
)

// The states of a run and of a test.
const (
	stateWaiting = "Waiting"
	stateRunning = "Running"
	statePassed  = "Passed"
	stateFailed  = "Failed"
)

const (
	// maxServices bounds the services of one project whose tests run at once, maxTogether
	// the tests of one of them, maxTests those of one run.
	maxServices = 4
	maxTogether = 4
	maxTests    = 50
	// look is how often to check the cluster for a running test, and memory for a
	// service that must become healthy.
	look = time.Second
)

// Hub receives the results of tests.
type Hub interface {
	ReportTests(ctx context.Context, r *agentv1.ReportTestsRequest) error
}

// Config is what a Runner needs.
type Config struct {
	// File stores the results.
	File string
	Hub  Hub
	// Ready reports whether a service is synced and healthy, and if not, what it
	// waits for. It must not block.
	Ready func(service string) (ready bool, why string)
	// Changed gets the id of a service whose gate or problems changed. It must not
	// block. May be nil.
	Changed func(service string)
	// BootID is the agent's.
	BootID string
	// Clock is the real one when nil.
	Clock clock.Clock
	// Log is silent when nil.
	Log *slog.Logger
	// Pools takes the pool of services whose tests run; nil shows none.
	Pools *pool.Set
}

// Request says what to test.
type Request struct {
	Service, Name, Namespace string
	// Project is whose tests run beside others'.
	Project string
	// Key names the tested content: tests of one key run once.
	Key                                       string
	Revision                                  int64
	SourceRevision, TarballDigest, SpecDigest string
	// Permit says with which account tests run, and where.
	Permit tenancy.Permit
	// Enforced: all objects must lie in Namespace.
	Enforced bool
	// Scrub removes the service's secret values from every text.
	Scrub *scrub.Scrubber
	// Tests are the marked objects; without any there is nothing to run.
	Tests []*unstructured.Unstructured
}

// Runner runs tests. It is safe for concurrent use.
type Runner struct {
	cfg  Config
	wake chan struct{}
	// places are the services whose tests run, by project.
	places *pool.Places

	mu sync.Mutex
	// ctx is Run's, nil before it.
	ctx     context.Context
	runs    map[string]*run
	running sync.WaitGroup
}

// run is the state of one service's tests. Runner.mu guards it.
type run struct {
	request Request
	tests   []test
	tails   []*tail
	result  *agentv1.TestRun
	// made are the objects in the cluster: their paths and uids.
	made map[string]string
	// resumed: the result was read from the file, and its objects are not known yet.
	resumed bool
	// going: a goroutine works on it; stop ends that.
	going bool
	stop  context.CancelFunc
	// unsent: the hub does not have the present result.
	unsent bool
	sent   *agentv1.TestRun
}

// New returns a Runner that continues from the stored results.
func New(cfg Config) (*Runner, error) {
	if cfg.File == "" || cfg.Hub == nil || cfg.Ready == nil {
		return nil, errcode.New(errcode.Invalid, "testrun: File, Hub and Ready are required")
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
	places := cfg.Pools.Places(pool.Spec{Name: "test_runs", Of: "services whose tests run", Size: pool.SizeFor(maxServices), Patient: true})
	r := &Runner{cfg: cfg, wake: make(chan struct{}, 1), places: places, runs: map[string]*run{}}
	r.recall()
	return r, nil
}

// Run runs tests and reports them until the context ends. It may be called
// once.
func (r *Runner) Run(ctx context.Context) error {
	r.mu.Lock()
	r.ctx = ctx
	for _, one := range r.runs {
		r.startLocked(one)
	}
	r.mu.Unlock()
	r.report(ctx)
	r.mu.Lock()
	r.ctx = nil
	r.mu.Unlock()
	r.running.Wait()
	return ctx.Err()
}

// Want sets a service's tests after its last pass. Tests of the same key that ran, or
// are running, continue; those of another key end.
func (r *Runner) Want(q Request) {
	if len(q.Tests) == 0 {
		r.Forget(q.Permit)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.runs[q.Service]
	if old != nil && old.request.Key == q.Key && !old.resumed {
		return
	}
	next := &run{request: q, made: map[string]string{}, unsent: true}
	for _, object := range q.Tests {
		if runs(object) && len(next.tests) < maxTests {
			next.tests = append(next.tests, readTest(object, q.Namespace))
		}
	}
	next.tails = make([]*tail, len(next.tests))
	next.result = emptyResult(q, next.tests)
	if old != nil {
		next.made = old.made
		if old.stop != nil {
			old.stop()
		}
		if old.request.Key == q.Key && sameTests(old.result, next.result) {
			next.result = old.result
		}
	}
	r.runs[q.Service] = next
	r.startLocked(next)
	r.storeLocked()
	r.changedLocked(next)
}

func emptyResult(q Request, tests []test) *agentv1.TestRun {
	result := &agentv1.TestRun{ServiceId: q.Service, Key: q.Key, Revision: q.Revision, SourceRevision: q.SourceRevision,
		TarballDigest: q.TarballDigest, SpecDigest: q.SpecDigest, State: stateWaiting}
	for _, t := range tests {
		result.Tests = append(result.Tests, &agentv1.TestResult{Namespace: t.namespace, Name: t.name, State: stateWaiting, Attempts: int32(t.attempts)})
	}
	return result
}

func sameTests(a, b *agentv1.TestRun) bool {
	if len(a.GetTests()) != len(b.GetTests()) {
		return false
	}
	for i, t := range a.GetTests() {
		if o := b.GetTests()[i]; t.GetNamespace() != o.GetNamespace() || t.GetName() != o.GetName() {
			return false
		}
	}
	return true
}

// Forget ends the running tests of a service that has no tests, or is gone, and
// removes what they left in the cluster, with the permit.
func (r *Runner) Forget(permit tenancy.Permit) {
	service := permit.Service()
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.runs[service]
	if old == nil {
		return
	}
	if old.stop != nil {
		old.stop()
	}
	delete(r.runs, service)
	if r.ctx != nil && len(old.made) > 0 {
		ctx := r.ctx
		r.running.Go(func() { r.clean(ctx, permit, old) })
	}
	r.storeLocked()
}

// Stop ends what runs for a service that may no longer do it. What it left in the
// cluster stays until the service's tests are wanted or forgotten.
func (r *Runner) Stop(service string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one := r.runs[service]; one != nil {
		if one.stop != nil {
			one.stop()
		}
		one.resumed = true // the next Want continues it
	}
}

func (r *Runner) startLocked(one *run) {
	if r.ctx == nil || one.going || one.resumed || ended(one.result.GetState()) {
		return
	}
	ctx, cancel := context.WithCancel(r.ctx)
	one.going, one.stop = true, cancel
	r.running.Go(func() {
		defer cancel()
		r.work(ctx, one)
	})
}

func ended(state string) bool { return state == statePassed || state == stateFailed }

// Gate says what a service that depends on this one waits for; empty if its tests
// have passed or it has none.
func (r *Runner) Gate(service string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.runs[service]
	if one == nil || one.resumed {
		return ""
	}
	switch one.result.GetState() {
	case statePassed:
		return ""
	case stateFailed:
		return "whose tests failed: " + one.result.GetMessage()
	case stateRunning:
		return "whose tests run"
	}
	return "whose tests have not run yet"
}

// Problems returns what a service's status says about its tests, one entry for each
// that finally failed.
func (r *Runner) Problems(service string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.runs[service]
	if one == nil {
		return nil
	}
	var all []string
	for _, t := range one.result.GetTests() {
		if t.GetState() == stateFailed {
			all = append(all, "test "+nameOf(t)+" failed: "+t.GetMessage())
		}
	}
	if len(all) == 0 && one.result.GetState() == stateFailed {
		all = append(all, one.result.GetMessage())
	}
	return all
}

func nameOf(t *agentv1.TestResult) string {
	return strings.TrimPrefix(t.GetNamespace()+"/"+t.GetName(), "/")
}

// change lets fn change a run's result; nothing happens if the run no longer belongs
// to the service. Final results are stored.
func (r *Runner) change(one *run, fn func(result *agentv1.TestRun)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs[one.request.Service] != one {
		return
	}
	before := proto.CloneOf(one.result)
	fn(one.result)
	if proto.Equal(before, one.result) {
		return
	}
	r.storeLocked()
	r.changedLocked(one)
}

func (r *Runner) changedLocked(one *run) {
	one.unsent = true
	select {
	case r.wake <- struct{}{}:
	default:
	}
	r.cfg.Changed(one.request.Service)
}
