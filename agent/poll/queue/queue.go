package queue

import (
	"container/heap"
	"time"
)

// Entry is a service's part in a queue.
type Entry struct {
	Id string
	// Due is when the next pass starts; zero means never. running: a pass runs.
	Due     time.Time
	Running bool
	// at is the position in the heap, from one; zero means none.
	at int
}

// Queue holds the services that have a pass to come, ordered by due time, and counts
// those with a running pass. The next pass is looked up after every pass, so with
// thousands of services this must not scan them all. The caller guards it.
type Queue struct {
	heap    dueHeap
	Running int
}

// Put sets when the next pass of a service starts; zero means never.
func (q *Queue) Put(e *Entry, due time.Time) {
	e.Due = due
	q.settle(e)
}

// settle gives a service the position for its due time: none while its pass runs, or
// if no pass is to come.
func (q *Queue) settle(e *Entry) {
	wanted, there := !e.Due.IsZero() && !e.Running, e.at > 0
	switch {
	case wanted && there:
		heap.Fix(&q.heap, e.at-1)
	case wanted:
		heap.Push(&q.heap, e)
	case there:
		heap.Remove(&q.heap, e.at-1)
	}
}

// First is the service that is due first, nil if there is none.
func (q *Queue) First() *Entry {
	if len(q.heap.all) == 0 {
		return nil
	}
	return q.heap.all[0]
}

// Begin records that a pass of the service runs.
func (q *Queue) Begin(e *Entry) {
	if !e.Running {
		e.Running = true
		q.Running++
	}
	q.Put(e, time.Time{})
}

// End records that a pass of the service ended.
func (q *Queue) End(e *Entry) {
	if e.Running {
		e.Running = false
		q.Running--
	}
	q.settle(e)
}

// dueHeap is a heap of services by due time.
type dueHeap struct {
	all []*Entry
	// looks counts comparisons, for a test.
	looks int
}

func (h *dueHeap) Len() int { return len(h.all) }

func (h *dueHeap) Less(i, j int) bool {
	h.looks++
	return h.all[i].Due.Before(h.all[j].Due)
}

func (h *dueHeap) Swap(i, j int) {
	h.all[i], h.all[j] = h.all[j], h.all[i]
	h.all[i].at, h.all[j].at = i+1, j+1
}

func (h *dueHeap) Push(x any) {
	e := x.(*Entry)
	h.all = append(h.all, e)
	e.at = len(h.all)
}

func (h *dueHeap) Pop() any {
	last := len(h.all) - 1
	e := h.all[last]
	h.all[last] = nil
	h.all, e.at = h.all[:last], 0
	return e
}
