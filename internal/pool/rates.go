package pool

import (
	"container/list"
	"fmt"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/clock"
)

// Rate is how many at once, and how long until one more.
type Rate struct {
	Burst int
	Every time.Duration
}

// RateSpec describes Rates.
type RateSpec struct {
	// Name is how metrics, texts and docs/security.md call the pool.
	Name string
	// Of is what is counted, in the plural.
	Of string
	// Caller is the share of one caller, Project that of a project, or a stranger's wider
	// network, and All what all together have; a zero one does not limit.
	Caller, Project, All Rate
	// Keys is how many callers are remembered; zero is 20,000. Beyond, the least recently
	// seen one is forgotten, and has its full share again.
	Keys int
	// Clock is the real one when nil.
	Clock clock.Clock
}

// Rates count uses.
type Rates struct {
	spec RateSpec
	kind *kind

	mu  sync.Mutex
	all time.Time
	// counters hold when each will be full again, by caller and by project.
	counters map[counterKey]*list.Element
	// order has the most recently used counter at its front.
	order *list.List
}

type counterKey struct {
	of   reason
	name string
}

type counter struct {
	key  counterKey
	full time.Time
}

func newRates(spec RateSpec, k *kind) *Rates {
	if spec.Clock == nil {
		spec.Clock = clock.Real{}
	}
	if spec.Keys == 0 {
		spec.Keys = 20_000
	}
	return &Rates{spec: spec, kind: k, counters: map[counterKey]*list.Element{}, order: list.New()}
}

// Take counts one use. Exhausted.
func (r *Rates) Take(c Caller) error { return r.use(c, true) }

// Look returns the error of Take, and counts no use.
func (r *Rates) Look(c Caller) error { return r.use(c, false) }

func (r *Rates) use(c Caller, count bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.spec.Clock.Now()
	buckets := r.buckets(c)
	for _, b := range buckets {
		if wait := b.after(now); wait > 0 {
			r.kind.refuse(b.why)
			return exhausted(fmt.Sprintf("too many %s from %s: the share is %s", r.spec.Of, b.who, b.Rate), r.spec.Name, wait)
		}
	}
	for _, b := range buckets {
		if count {
			*b.full = later(*b.full, now).Add(b.Every)
		}
	}
	return nil
}

// GiveBack undoes a Take, for a guess that was right.
func (r *Rates) GiveBack(c Caller) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.buckets(c) {
		*b.full = b.full.Add(-b.Every)
	}
}

// bucket is one limit of a caller.
type bucket struct {
	Rate
	full *time.Time
	why  reason
	who  string
}

// after returns how long until a use is possible.
func (b bucket) after(now time.Time) time.Duration {
	return later(*b.full, now).Add(b.Every).Sub(now) - time.Duration(b.Burst)*b.Every
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// buckets are the limits of a caller. The caller holds mu.
func (r *Rates) buckets(c Caller) (all []bucket) {
	if s := r.spec.Caller; s.Burst > 0 && !c.Reserved {
		all = append(all, bucket{s, r.counter(counterKey{ofCaller, c.Name}), ofCaller, "here"})
	}
	if s := r.spec.Project; s.Burst > 0 && c.Project != "" && !c.Reserved {
		all = append(all, bucket{s, r.counter(counterKey{ofProject, c.Project}), ofProject, "your project or network"})
	}
	if s := r.spec.All; s.Burst > 0 {
		if c.Reserved {
			s.Burst += s.Burst/10 + 1
		}
		all = append(all, bucket{s, &r.all, full, "everybody together"})
	}
	return all
}

// counter returns a counter, creates a missing one, and moves it to the front.
func (r *Rates) counter(key counterKey) *time.Time {
	if e, ok := r.counters[key]; ok {
		r.order.MoveToFront(e)
		return &e.Value.(*counter).full
	}
	if len(r.counters) >= r.spec.Keys {
		last := r.order.Back()
		delete(r.counters, last.Value.(*counter).key)
		r.order.Remove(last)
	}
	c := &counter{key: key}
	r.counters[key] = r.order.PushFront(c)
	return &c.full
}

// Used returns how much is used up: of everybody's, or of the share of who used most.
func (r *Rates) Used() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.spec.Clock.Now()
	if s := r.spec.All; s.Burst > 0 {
		return s.used(r.all, now)
	}
	most := 0
	for e := r.order.Front(); e != nil; e = e.Next() {
		if c := e.Value.(*counter); c.key.of == ofCaller {
			most = max(most, r.spec.Caller.used(c.full, now))
		}
	}
	return most
}

// String words a share.
func (r Rate) String() string {
	if r.Every < time.Second {
		return fmt.Sprintf("%d, and %d more a second", r.Burst, time.Second/r.Every)
	}
	return fmt.Sprintf("%d, and one more in %g s", r.Burst, r.Every.Seconds())
}

func (r Rate) used(fullAt, now time.Time) int {
	return int((max(0, fullAt.Sub(now)) + r.Every - 1) / r.Every)
}

// Size returns how much there is of what Used counts.
func (r *Rates) Size() int {
	if r.spec.All.Burst > 0 {
		return r.spec.All.Burst
	}
	return r.spec.Caller.Burst
}
