// Package schedule plans the checks of the objects of one kind, the waits after errors,
// and which namespace's objects get a worker. It reads and writes nothing;
// operator/controller asks it.
//
// Invariants: no two objects wait for the same time, because each wait has jitter. What is
// not known after a start is checked at a random time of its interval. No namespace has
// all workers.
package schedule

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/jitter"
)

// Timing are the times of the controllers. The zero value of a field is its default.
type Timing struct {
	// Drift is the time between two checks of an object that sets no interval
	// (30 min); each wait is 50 to 150 % of it.
	Drift time.Duration
	// Least bounds the interval that an object can set (1 min).
	Least time.Duration
	// Missing is the wait for something that does not exist yet (5 s, 50 to 150 %),
	// and the first one for a deletion, which doubles up to RetryMax.
	Missing time.Duration
	// Pending is the first wait for an object that is not ready (3 s, 50 to 150 %).
	// Each wait is 1.5 times the one before, up to the interval.
	Pending time.Duration
	// Retry bounds the first wait after an error (1 s); it doubles, up to RetryMax
	// (5 min), with full jitter.
	Retry, RetryMax time.Duration
	// Limit bounds one reconcile (2 min).
	Limit time.Duration
	// Discover is the time between two looks for the ReferenceGrants of Gateway API
	// while the cluster does not have them (1 min).
	Discover time.Duration
	// Quiet is how long another controller must not have written the status of an
	// object before the operator acts on it (5 min).
	Quiet time.Duration
}

// WithDefaults returns the times with the defaults of those that are zero.
func (t Timing) WithDefaults() Timing {
	for _, d := range []struct {
		field *time.Duration
		is    time.Duration
	}{
		{&t.Drift, 30 * time.Minute}, {&t.Least, time.Minute}, {&t.Missing, 5 * time.Second}, {&t.Pending, 3 * time.Second},
		{&t.Retry, time.Second}, {&t.RetryMax, 5 * time.Minute}, {&t.Limit, 2 * time.Minute}, {&t.Discover, time.Minute}, {&t.Quiet, 5 * time.Minute},
	} {
		if *d.field == 0 {
			*d.field = d.is
		}
	}
	return t
}

// Interval is the time between two checks of an object with these settings; zero is never.
func (t Timing) Interval(settings *v1alpha1.Reconciliation) time.Duration {
	if settings == nil {
		return t.Drift
	}
	if settings.DriftDetection != nil && !*settings.DriftDetection {
		return 0
	}
	if settings.Interval != nil {
		if every, err := time.ParseDuration(*settings.Interval); err == nil && every > 0 {
			return max(every, t.Least)
		}
	}
	return t.Drift
}

// CacheDelay bounds the wait for the cache to see our last write.
const CacheDelay = 200 * time.Millisecond

// Options are those of a controller with so many workers for one namespace. There are as
// many again for the others.
func Options(workers int, t Timing) controller.Options {
	unchecked := true // the name is unique here, but not in a process with two operators
	if workers > 1 {
		workers *= 2
	}
	return controller.Options{
		MaxConcurrentReconciles: workers, SkipNameValidation: &unchecked,
		RateLimiter: workqueue.TypedRateLimiter[reconcile.Request](NewBackoff(t)),
		NewQueue: func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			return newShares(name, workers, limiter)
		},
	}
}

// Schedule knows when each object is to be checked. It is lost with the process; what
// is not known yet is checked at a random time of its interval, so that a start is
// no storm of calls.
type Schedule struct {
	pending time.Duration
	mu      sync.Mutex
	checks  map[types.NamespacedName]check
	// written are the versions of our last writes of objects.
	written map[types.NamespacedName]string
}

type check struct {
	// at is zero for never.
	at time.Time
	// waited is the last wait for the object to become ready.
	waited time.Duration
}

// New returns a schedule without objects; pending is the first wait for one that is not
// ready.
func New(pending time.Duration) *Schedule {
	return &Schedule{pending: pending, checks: map[types.NamespacedName]check{}, written: map[types.NamespacedName]string{}}
}

// Forget forgets when an object is to be checked.
func (s *Schedule) Forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.checks, key)
}

// Drop forgets an object that is gone.
func (s *Schedule) Drop(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.checks, key)
	delete(s.written, key)
}

// Wrote notes the version of an object after our write.
func (s *Schedule) Wrote(key types.NamespacedName, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written[key] = version
}

// Behind reports whether a version of an object is older than our last write of it:
// the cache has not seen the status yet, and what it says was sent already.
func (s *Schedule) Behind(key types.NamespacedName, version string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	order, err := resourceversion.CompareResourceVersion(version, s.written[key])
	return err == nil && order < 0
}

// Wait returns how long to wait for the next check, or that it is due. A wait of zero
// that is not due is for ever.
func (s *Schedule) Wait(key types.NamespacedName, isReady func() bool, interval time.Duration) (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.checks[key]
	if !ok {
		first := interval
		if !isReady() {
			first = s.pending
		}
		if first > 0 {
			known.at = time.Now().Add(jitter.Full(first))
		}
		s.checks[key] = known
	}
	if known.at.IsZero() {
		return 0, false
	}
	left := time.Until(known.at)
	return max(left, 0), left <= 0
}

// Again plans the next check after one, and returns the wait for it.
func (s *Schedule) Again(key types.NamespacedName, isReady bool, interval, pending time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := check{}
	wait := interval
	if !isReady {
		next.waited = max(pending, s.checks[key].waited*3/2)
		if interval > 0 {
			next.waited = min(next.waited, max(interval, pending))
		} else {
			next.waited = min(next.waited, 60*pending)
		}
		wait = next.waited
	}
	if wait > 0 {
		wait = jitter.Around(wait, wait/2)
		next.at = time.Now().Add(wait)
	}
	s.checks[key] = next
	return wait
}

// Backoff is the rate limiter of a queue: full jitter, doubling, bounded.
type Backoff struct {
	timing Timing
	mu     sync.Mutex
	failed map[reconcile.Request]*jitter.Backoff
}

// NewBackoff returns the rate limiter of a queue.
func NewBackoff(t Timing) *Backoff {
	return &Backoff{timing: t, failed: map[reconcile.Request]*jitter.Backoff{}}
}

// When implements workqueue.TypedRateLimiter.
func (b *Backoff) When(request reconcile.Request) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.failed[request]
	if one == nil {
		one = &jitter.Backoff{Min: b.timing.Retry, Max: b.timing.RetryMax}
		b.failed[request] = one
	}
	return one.Next()
}

// Forget implements workqueue.TypedRateLimiter.
func (b *Backoff) Forget(request reconcile.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.failed, request)
}

// NumRequeues implements workqueue.TypedRateLimiter.
func (b *Backoff) NumRequeues(request reconcile.Request) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if one := b.failed[request]; one != nil {
		return one.Attempts()
	}
	return 0
}
