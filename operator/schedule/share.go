package schedule

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/axle-cd/axle/internal/pool"
)

// shares is a queue of which no namespace has all workers: it gets at most half of those
// that the others leave. What is above its share is held, and handed to the worker that
// ends something next.
type shares struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	workers *pool.Places

	mu sync.Mutex
	// running are the objects that have a worker.
	running map[reconcile.Request]*pool.Held
	// held wait for their namespace's share, in order; handed wait for a worker that has
	// just become free.
	held   []queued
	handed []queued
}

type queued struct {
	request  reconcile.Request
	priority int
}

// pools has the pools of this process, beside the metrics of the controllers.
var pools = sync.OnceValue(func() *pool.Set { return pool.NewSet(metrics.Registry) })

// newShares returns the queue of a controller.
func newShares(name string, workers int, limiter workqueue.TypedRateLimiter[reconcile.Request]) *shares {
	return &shares{
		PriorityQueue: priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter }),
		workers:       pools().Places(pool.Spec{Name: "workers", Of: "workers of " + name, Size: workers, Retry: time.Second}), running: map[reconcile.Request]*pool.Held{},
	}
}

// Get implements workqueue.TypedInterface.
func (s *shares) Get() (reconcile.Request, bool) {
	request, _, shutdown := s.GetWithPriority()
	return request, shutdown
}

// GetWithPriority implements priorityqueue.PriorityQueue.
func (s *shares) GetWithPriority() (reconcile.Request, int, bool) {
	for {
		if next, ok := s.hand(); ok {
			return next.request, next.priority, s.ShuttingDown()
		}
		request, priority, shutdown := s.PriorityQueue.GetWithPriority()
		if shutdown || s.admit(queued{request, priority}) {
			return request, priority, shutdown
		}
	}
}

// hand returns what was handed to a free worker.
func (s *shares) hand() (next queued, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.handed) == 0 {
		return next, false
	}
	next, s.handed = s.handed[0], s.handed[1:]
	return next, true
}

// admit gives an object a worker, or holds it.
func (s *shares) admit(q queued) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begin(q) {
		s.held = append(s.held, q)
		return false
	}
	return true
}

// begin gives an object a worker if its namespace has a share left.
func (s *shares) begin(q queued) bool {
	place := s.workers.Try(pool.Caller{Name: q.request.Namespace})
	if place != nil {
		s.running[q.request] = place
	}
	return place != nil
}

// Done implements workqueue.TypedInterface. The worker that calls it asks for the next
// object then.
func (s *shares) Done(request reconcile.Request) {
	s.PriorityQueue.Done(request)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[request].Leave()
	delete(s.running, request)
	for i, q := range s.held {
		if s.begin(q) {
			s.held = append(s.held[:i:i], s.held[i+1:]...)
			s.handed = append(s.handed, q)
			return
		}
	}
}
