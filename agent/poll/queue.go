package poll

import "container/heap"

// queue holds the services that have a pass to come, ordered by due time, and counts
// those with a running pass. The next pass is looked up after every pass, so with
// thousands of services this must not scan them all. Loop.mu guards it.
type queue struct {
	heap    dueHeap
	running int
}

// put gives a service the position for its due time: none while its pass runs, or if
// no pass is to come.
func (a *queue) put(s *service) {
	wanted, there := !s.due.IsZero() && !s.running, s.queueIndex > 0
	switch {
	case wanted && there:
		heap.Fix(&a.heap, s.queueIndex-1)
	case wanted:
		heap.Push(&a.heap, s)
	case there:
		heap.Remove(&a.heap, s.queueIndex-1)
	}
}

// first is the service that is due first, nil if there is none.
func (a *queue) first() *service {
	if len(a.heap.all) == 0 {
		return nil
	}
	return a.heap.all[0]
}

// begin records that a pass of the service runs, end that it ended.
func (a *queue) begin(s *service) {
	if !s.running {
		s.running = true
		a.running++
	}
	a.put(s)
}

func (a *queue) end(s *service) {
	if s.running {
		s.running = false
		a.running--
	}
	a.put(s)
}

// dueHeap is a heap of services by due time. Each service knows its position: its
// index plus one.
type dueHeap struct {
	all []*service
	// looks counts comparisons, for a test.
	looks int
}

func (h *dueHeap) Len() int { return len(h.all) }

func (h *dueHeap) Less(i, j int) bool {
	h.looks++
	return h.all[i].due.Before(h.all[j].due)
}

func (h *dueHeap) Swap(i, j int) {
	h.all[i], h.all[j] = h.all[j], h.all[i]
	h.all[i].queueIndex, h.all[j].queueIndex = i+1, j+1
}

func (h *dueHeap) Push(x any) {
	s := x.(*service)
	h.all = append(h.all, s)
	s.queueIndex = len(h.all)
}

func (h *dueHeap) Pop() any {
	last := len(h.all) - 1
	s := h.all[last]
	h.all[last] = nil
	h.all, s.queueIndex = h.all[:last], 0
	return s
}
