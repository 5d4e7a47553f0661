package queue

import (
	"container/heap"
	"slices"
	"time"
)

// Entry is a service's part in a queue.
type Entry struct {
	Id string
	// Project is that of the service; only Move changes it.
	Project string
	// Due is when the next pass starts; zero means never. running: a pass runs.
	Due     time.Time
	Running bool
	// at is the position in the heap of its project, from one; zero means none.
	at int
}

// Queue holds the services that have a pass to come, by project and ordered by due time,
// and counts those with a running pass. The next pass is looked up after every pass, so
// with thousands of services this must not scan them all. The caller guards it.
type Queue struct {
	projects map[string]*dueHeap
	Running  int
	// looks counts comparisons, for a test.
	looks int
}

// Put sets when the next pass of a service starts; zero means never.
func (q *Queue) Put(e *Entry, due time.Time) {
	e.Due = due
	q.settle(e)
}

// Move makes a service one of another project.
func (q *Queue) Move(e *Entry, to string) {
	if e.Project == to {
		return
	}
	if e.at > 0 {
		q.remove(e)
	}
	e.Project = to
	q.settle(e)
}

// settle gives a service the position for its due time: none while its pass runs, or
// if no pass is to come.
func (q *Queue) settle(e *Entry) {
	wanted, there := !e.Due.IsZero() && !e.Running, e.at > 0
	switch {
	case wanted && there:
		heap.Fix(q.projects[e.Project], e.at-1)
	case wanted:
		p := q.projects[e.Project]
		if p == nil {
			p = &dueHeap{looks: &q.looks}
			if q.projects == nil {
				q.projects = map[string]*dueHeap{}
			}
			q.projects[e.Project] = p
		}
		heap.Push(p, e)
	case there:
		q.remove(e)
	}
}

func (q *Queue) remove(e *Entry) {
	heap.Remove(q.projects[e.Project], e.at-1)
}

// First is the service that is due first, nil if there is none.
func (q *Queue) First() (first *Entry) {
	for _, p := range q.projects {
		if len(p.all) > 0 && (first == nil || p.all[0].Due.Before(first.Due)) {
			first = p.all[0]
		}
	}
	return first
}

// Due returns of each project with services that are due the one that has been longest, in
// this order, and when the first service of the other projects is due; zero means never.
func (q *Queue) Due(now time.Time) (due []*Entry, next time.Time) {
	for _, p := range q.projects {
		switch {
		case len(p.all) == 0:
		case !p.all[0].Due.After(now):
			due = append(due, p.all[0])
		case next.IsZero() || p.all[0].Due.Before(next):
			next = p.all[0].Due
		}
	}
	slices.SortFunc(due, func(a, b *Entry) int { return a.Due.Compare(b.Due) })
	return due, next
}

// Begin records that a pass of the service runs.
func (q *Queue) Begin(e *Entry) {
	if !e.Running {
		e.Running = true
		q.Running++
	}
	q.Put(e, time.Time{})
}

// Forget removes a service for good, and its project with the last one that waits.
func (q *Queue) Forget(e *Entry) {
	q.Put(e, time.Time{})
	if p := q.projects[e.Project]; p != nil && len(p.all) == 0 {
		delete(q.projects, e.Project)
	}
}

// End records that a pass of the service ended.
func (q *Queue) End(e *Entry) {
	if e.Running {
		e.Running = false
		q.Running--
	}
	q.settle(e)
}

// dueHeap is a heap of the services of one project that have a pass to come, by due time.
type dueHeap struct {
	all   []*Entry
	looks *int
}

func (h *dueHeap) Len() int { return len(h.all) }

func (h *dueHeap) Less(i, j int) bool {
	*h.looks++
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
