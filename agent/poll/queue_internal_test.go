package poll

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/axle-cd/axle/agent/poll/change"
)

// Passes come in the order of their due times, each service once, whatever is
// asked for meanwhile.
func TestQueueKeepsTheOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	a := &queue{}
	now := time.Unix(1000, 0)
	all := make([]*service, 40)
	for n := range all {
		all[n] = newService(fmt.Sprint(n), a)
	}
	for range 5000 {
		s := all[random.IntN(len(all))]
		switch random.IntN(5) {
		case 0:
			s.unqueue()
		case 1:
			if s == a.first() {
				s.due = time.Time{}
				a.begin(s)
			}
		case 2:
			a.end(s)
		default:
			s.queue(now.Add(time.Duration(random.IntN(1000))*time.Second), change.Asked)
		}
		var first *service
		running := 0
		for _, s := range all {
			if s.running {
				running++
			} else if !s.due.IsZero() && (first == nil || s.due.Before(first.due)) {
				first = s
			}
		}
		if got := a.first(); (got == nil) != (first == nil) || got != nil && !got.due.Equal(first.due) || got != nil && got.running {
			t.Fatalf("the first is %v, not %v", got, first)
		}
		if a.running != running {
			t.Fatalf("%d passes run, not %d", a.running, running)
		}
		for n, s := range a.heap.all {
			if s.queueIndex != n+1 || slices.Index(a.heap.all, s) != n {
				t.Fatalf("service %s is at %d and takes itself to be at %d", s.id, n, s.queueIndex-1)
			}
		}
	}
}

// The next pass must be found without scanning all services.
func TestQueueLooksAtFew(t *testing.T) {
	for _, services := range []int{500, 8000} {
		a := &queue{}
		now := time.Unix(1000, 0)
		for n := range services {
			newService(fmt.Sprint(n), a).queue(now.Add(time.Duration(n*7919%services)*time.Second), change.Asked)
		}
		a.heap.looks = 0
		for range services {
			s := a.first()
			s.due = time.Time{}
			a.begin(s)
			a.end(s)
			s.queue(now.Add(time.Hour), change.Asked)
		}
		if each := float64(a.heap.looks) / float64(services); each > 4*math.Log2(float64(services)) {
			t.Errorf("a pass among %d services costs %.0f comparisons", services, each)
		}
	}
}
