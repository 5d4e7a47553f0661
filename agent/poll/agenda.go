package poll

import "container/heap"

// agenda holds the services that have a pass to come, the earliest first, and
// counts those whose pass runs. What the next pass is, and whether there is
// any, is asked after every pass: with thousands of services nobody may look
// through all of them for that. Loop.mu guards it.
type agenda struct {
	heap    dueHeap
	running int
}

// put gives a service the place that its due time asks for: none while a pass
// of it runs, or when none is to come.
func (a *agenda) put(s *service) {
	wanted, there := !s.due.IsZero() && !s.running, s.place > 0
	switch {
	case wanted && there:
		heap.Fix(&a.heap, s.place-1)
	case wanted:
		heap.Push(&a.heap, s)
	case there:
		heap.Remove(&a.heap, s.place-1)
	}
}

// first is the service that is due first, nil when none is.
func (a *agenda) first() *service {
	if len(a.heap.all) == 0 {
		return nil
	}
	return a.heap.all[0]
}

// begin notes that a pass of the service runs, end that it does not any more.
func (a *agenda) begin(s *service) {
	if !s.running {
		s.running = true
		a.running++
	}
	a.put(s)
}

func (a *agenda) end(s *service) {
	if s.running {
		s.running = false
		a.running--
	}
	a.put(s)
}

// dueHeap is a heap of services by due time, each of which knows its place:
// its index and one.
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
	h.all[i].place, h.all[j].place = i+1, j+1
}

func (h *dueHeap) Push(x any) {
	s := x.(*service)
	h.all = append(h.all, s)
	s.place = len(h.all)
}

func (h *dueHeap) Pop() any {
	last := len(h.all) - 1
	s := h.all[last]
	h.all[last] = nil
	h.all, s.place = h.all[:last], 0
	return s
}
