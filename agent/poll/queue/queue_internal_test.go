package queue

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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
		all[n] = &Entry{Id: fmt.Sprint(n), Project: fmt.Sprint(n % 3)}
	}
	for range 5000 {
		s := all[random.IntN(len(all))]
		switch random.IntN(6) {
		case 0:
			a.Put(s, time.Time{})
		case 1:
			if s == a.First() {
				a.Begin(s)
			}
		case 2:
			a.End(s)
		case 3:
			a.Move(s, fmt.Sprint(random.IntN(4)))
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
		for name, p := range a.projects {
			for n, s := range p.all {
				if s.at != n+1 || s.Project != name || slices.Index(p.all, s) != n {
					t.Fatalf("service %s is at %d of %s and takes itself to be at %d of %s", s.Id, n, name, s.at-1, s.Project)
				}
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
		a.looks = 0
		for range services {
			s := a.First()
			a.Begin(s)
			a.End(s)
			a.Put(s, now.Add(time.Hour))
		}
		if each := float64(a.looks) / float64(services); each > 4*math.Log2(float64(services)) {
			t.Errorf("a pass among %d services costs %.0f comparisons", services, each)
		}
	}
}

// Of each project one service is due at a time, the one that has been longest, and what is
// not due yet has a time.
func TestOneServiceOfAProjectIsDue(t *testing.T) {
	a, now := &Queue{}, time.Unix(1000, 0)
	put := func(id, project string, due time.Time) *Entry {
		e := &Entry{Id: id}
		a.Move(e, project)
		a.Put(e, due)
		return e
	}
	if due, next := a.Due(now); due != nil || !next.IsZero() {
		t.Errorf("of none are due %v and %v", due, next)
	}
	var guests []*Entry
	for n := range 5 {
		guests = append(guests, put(fmt.Sprint("guest", n), "guest", now.Add(time.Duration(n-10)*time.Second)))
	}
	put("other", "other", now)
	put("later", "later", now.Add(time.Minute))
	put("last", "last", now.Add(time.Hour))
	for n, want := range []string{"guest0 other", "guest1 other"} {
		due, next := a.Due(now)
		var ids []string
		for _, e := range due {
			ids = append(ids, e.Id)
		}
		if got := strings.Join(ids, " "); got != want || !next.Equal(now.Add(time.Minute)) {
			t.Errorf("due are %s and at %v the next one", got, next)
		}
		a.Begin(guests[n])
	}
}
