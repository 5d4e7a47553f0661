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
	// maxServices bounds the services whose tests run at once, maxTogether the
	// tests of one of them, maxTests those of one run.
	maxServices = 4
	maxTogether = 4
	maxTests    = 50
	// look is how often the cluster is asked about a test that runs, and the
	// memory about a service that is to become healthy.
	look = time.Second
)

// Hub takes what is known of tests.
type Hub interface {
	ReportTests(ctx context.Context, r *agentv1.ReportTestsRequest) error
}

// Config is what a Runner needs.
type Config struct {
	// File keeps the results.
	File string
	Hub  Hub
	// Ready says whether a service is synced and healthy, and if not, what it
	// waits for. It must not block.
	Ready func(service string) (ready bool, why string)
	// Changed is told the id of a service whose gate or problems are not what
	// they were. It must not block. Nil is nobody.
	Changed func(service string)
	// BootID is the agent's.
	BootID string
	// Clock is the real one when nil.
	Clock clock.Clock
	// Log is silent when nil.
	Log *slog.Logger
}

// Request is what to test.
type Request struct {
	Service, Name, Namespace string
	// Key names what is tested: tests of one key run once.
	Key                                       string
	Revision                                  int64
	SourceRevision, TarballDigest, SpecDigest string
	// Permit says as whom tests run, and where.
	Permit tenancy.Permit
	// Enforced: all objects must lie in Namespace.
	Enforced bool
	// Scrub removes the service's secret values from every text.
	Scrub *scrub.Scrubber
	// Tests are the marked objects; with none there is nothing to run.
	Tests []*unstructured.Unstructured
}

// Runner runs tests. It is safe for concurrent use.
type Runner struct {
	cfg  Config
	wake chan struct{}
	// places bounds the services at work.
	places chan struct{}

	mu sync.Mutex
	// ctx is Run's, nil before it.
	ctx     context.Context
	runs    map[string]*run
	running sync.WaitGroup
}

// run is what is known of one service's tests. Runner.mu guards it.
type run struct {
	request Request
	tests   []test
	tails   []*tail
	result  *agentv1.TestRun
	// made are the objects that lie in the cluster: their paths, and uids.
	made map[string]string
	// resumed says that the result was read from the file and its objects are
	// not known yet.
	resumed bool
	// going says that a goroutine works on it; stop ends that.
	going bool
	stop  context.CancelFunc
	// unsent says that the hub does not know the result as it is.
	unsent bool
	sent   *agentv1.TestRun
}

// New returns a Runner that knows what an earlier one found.
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
	r := &Runner{cfg: cfg, wake: make(chan struct{}, 1), places: make(chan struct{}, maxServices), runs: map[string]*run{}}
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

// Want says what a service's tests are since its last pass. Tests of a key
// that have run, or run now, go on; those of another end.
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

// Forget ends what is under way for a service that has no tests, or is gone,
// and removes what its tests left in the cluster, as the permit says.
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

// Stop ends what runs for a service that may not do it any more. What it left
// in the cluster stays until the service's tests are wanted or forgotten.
func (r *Runner) Stop(service string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one := r.runs[service]; one != nil {
		if one.stop != nil {
			one.stop()
		}
		one.resumed = true // the next Want goes on with it
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

// Gate says what a service that depends on this one waits for, empty when its
// tests have passed or it has none.
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

// Problems returns what a service's status says of its tests, one entry for
// each that failed for good.
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

// change lets fn change a run's result; nothing happens when the run is not
// the service's any more. What is final is stored.
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
