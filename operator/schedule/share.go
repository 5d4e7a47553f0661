package schedule

import (
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// shares is a queue of which no namespace has all workers: it gets at most half of those
// that the others leave. What is above its share is held, and handed to the worker that
// ends something next.
type shares struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	workers int

	mu sync.Mutex
	// running are how many objects of a namespace have a worker.
	running map[string]int
	busy    int
	// held wait for their namespace's share, in order; handed wait for a worker that has
	// just become free.
	held   []queued
	handed []queued
}

type queued struct {
	request  reconcile.Request
	priority int
}

// newShares returns the queue of a controller.
func newShares(name string, workers int, limiter workqueue.TypedRateLimiter[reconcile.Request]) *shares {
	return &shares{
		PriorityQueue: priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter }),
		workers:       workers, running: map[string]int{},
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
	if !s.fits(q) {
		s.held = append(s.held, q)
		return false
	}
	s.begin(q)
	return true
}

func (s *shares) fits(q queued) bool {
	own := s.running[q.request.Namespace]
	left := s.workers - (s.busy - own)
	return own < max(1, (left+1)/2)
}

func (s *shares) begin(q queued) {
	s.running[q.request.Namespace]++
	s.busy++
}

// Done implements workqueue.TypedInterface. The worker that calls it asks for the next
// object then.
func (s *shares) Done(request reconcile.Request) {
	s.PriorityQueue.Done(request)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	if s.running[request.Namespace]--; s.running[request.Namespace] == 0 {
		delete(s.running, request.Namespace)
	}
	for i, q := range s.held {
		if s.fits(q) {
			s.held = append(s.held[:i:i], s.held[i+1:]...)
			s.begin(q)
			s.handed = append(s.handed, q)
			return
		}
	}
}
