package queue

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Passes come in the order of their due times, each service once, whatever is
// asked for meanwhile.
func TestQueueKeepsTheOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	a := &Queue{}
	now := time.Unix(1000, 0)
	all := make([]*Entry, 40)
	for n := range all {
		all[n] = &Entry{Id: fmt.Sprint(n)}
	}
	for range 5000 {
		s := all[random.IntN(len(all))]
		switch random.IntN(5) {
		case 0:
			a.Put(s, time.Time{})
		case 1:
			if s == a.First() {
				a.Begin(s)
			}
		case 2:
			a.End(s)
		default:
			a.Put(s, now.Add(time.Duration(random.IntN(1000))*time.Second))
		}
		var first *Entry
		running := 0
		for _, s := range all {
			if s.Running {
				running++
			} else if !s.Due.IsZero() && (first == nil || s.Due.Before(first.Due)) {
				first = s
			}
		}
		if got := a.First(); (got == nil) != (first == nil) || got != nil && !got.Due.Equal(first.Due) || got != nil && got.Running {
			t.Fatalf("the first is %v, not %v", got, first)
		}
		if a.Running != running {
			t.Fatalf("%d passes run, not %d", a.Running, running)
		}
		for n, s := range a.heap.all {
			if s.at != n+1 || slices.Index(a.heap.all, s) != n {
				t.Fatalf("service %s is at %d and takes itself to be at %d", s.Id, n, s.at-1)
			}
		}
	}
}

// The next pass must be found without scanning all services.
func TestQueueLooksAtFew(t *testing.T) {
	for _, services := range []int{500, 8000} {
		a := &Queue{}
		now := time.Unix(1000, 0)
		for n := range services {
			a.Put(&Entry{Id: fmt.Sprint(n)}, now.Add(time.Duration(n*7919%services)*time.Second))
		}
		a.heap.looks = 0
		for range services {
			s := a.First()
			a.Begin(s)
			a.End(s)
			a.Put(s, now.Add(time.Hour))
		}
		if each := float64(a.heap.looks) / float64(services); each > 4*math.Log2(float64(services)) {
			t.Errorf("a pass among %d services costs %.0f comparisons", services, each)
		}
	}
}
