package pool

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
)

// Spec describes Places.
type Spec struct {
	// Name is how metrics, texts and docs/security.md call the pool.
	Name string
	// Of is what the places are for, in the plural.
	Of   string
	Size int
	// Share is what one caller has at most, administrators too, besides a half of what the
	// others leave; zero for no more than that.
	Share int
	// Reserve is how many of the places are for reserved callers only.
	Reserve int
	// Retry is how long to wait before the next try.
	Retry time.Duration
	// Spread is the most that is added to Retry at random, for callers that come all at once.
	Spread time.Duration
	// Queue is how many may wait for a place, and Within how long; zero lets nobody wait.
	Queue  int
	Within time.Duration
	// Patient lets everybody wait, until their context ends: those who come are bounded by
	// something else, as the services of a cluster are.
	Patient bool
	// Named tells a refused caller who has the most places.
	Named bool
}

// Places are a number of places. The zero value has none.
type Places struct {
	spec  Spec
	kind  *kind
	queue *Places

	mu                sync.Mutex
	used              int
	callers, projects map[string]int
	// waiting are those who wait, by who has turns together, and turns the order of these and
	// of the callers of Next.
	waiting map[string][]*waiter
	turns   []string
}

// waiter waits for one place.
type waiter struct {
	caller Caller
	ready  chan *Held
}

// Held are places that somebody has.
type Held struct {
	from   *Places
	caller Caller
	places int
	left   bool
}

// SizeFor is the size of a pool of which one who has no company gets so many places: others
// find room beside them.
func SizeFor(share int) int { return max(2, 2*share-1) }

func newPlaces(spec Spec, k *kind) *Places {
	p := &Places{spec: spec, kind: k, callers: map[string]int{}, projects: map[string]int{}, waiting: map[string][]*waiter{}}
	if spec.Queue > 0 {
		p.queue = newPlaces(Spec{Name: spec.Name, Of: "those who wait for " + spec.Of, Size: spec.Queue, Retry: spec.Retry}, k)
	}
	return p
}

// Another returns as many places again, for something else. Close must follow.
func (p *Places) Another(of string) *Places {
	spec := p.spec
	spec.Of = of
	one := newPlaces(spec, p.kind)
	p.kind.add(one)
	return one
}

// Close takes the places out of the metrics.
func (p *Places) Close() { p.kind.remove(p) }

// Take takes a place until it is left. Exhausted.
func (p *Places) Take(c Caller) (*Held, error) { return p.TakeMany(c, 1) }

// Resize changes how many places there are. Those who have places keep them.
func (p *Places) Resize(size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spec.Size = size
	p.hand()
}

// TakeMany takes places that count as one share. Exhausted.
func (p *Places) TakeMany(c Caller, places int) (*Held, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if why := p.fits(c, places); why != "" {
		return nil, p.refusal(why, c)
	}
	return p.give(c, places), nil
}

// Try is Take for a caller that waits by itself: nil when there is no place, which is no
// refusal.
func (p *Places) Try(c Caller) *Held {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fits(c, 1) != "" {
		return nil
	}
	return p.give(c, 1)
}

// Next takes a place for the first in turn of these callers that can have one, nil if none
// can, which is no refusal. It is for work that waits elsewhere: callers are those that have
// some, each again at every call, and new ones have their turns in the order given.
func (p *Places) Next(callers []Caller) (Caller, *Held) {
	p.mu.Lock()
	defer p.mu.Unlock()
	by := make(map[string]Caller, len(callers))
	for _, c := range callers {
		if by[c.party()] = c; !slices.Contains(p.turns, c.party()) {
			p.turns = append(p.turns, c.party())
		}
	}
	p.turns = slices.DeleteFunc(p.turns, func(party string) bool {
		_, there := by[party]
		return !there && len(p.waiting[party]) == 0
	})
	for party := range p.order {
		if c, there := by[party]; there && p.fits(c, 1) == "" {
			p.last(party)
			return c, p.give(c, 1)
		}
	}
	return Caller{}, nil
}

// order is that of turns, with those first who have no place: nobody gets a second one while
// somebody waits for the first. Two who always have work would fill three places by it, each time
// that one of them ends before its next one begins. A second place waits as long as that takes.
// The caller holds mu, and changes nothing before the last one.
func (p *Places) order(yield func(party string) bool) {
	for _, with := range []bool{false, true} {
		for _, party := range p.turns {
			if (p.held(party) > 0) == with && !yield(party) {
				return
			}
		}
	}
}

// held is how many places a party has. The caller holds mu.
func (p *Places) held(party string) int {
	if n := p.projects[party]; n > 0 {
		return n
	}
	return p.callers[strings.TrimPrefix(party, ofReserved)]
}

// Wait waits for a place. Exhausted when too many wait, or for too long; the error of the
// context when that ends. Of those who wait, callers or projects have their turns.
func (p *Places) Wait(ctx context.Context, c Caller) (*Held, error) {
	p.mu.Lock()
	why := p.fits(c, 1)
	if why == "" {
		defer p.mu.Unlock()
		return p.give(c, 1), nil
	}
	var late <-chan time.Time
	switch {
	case p.spec.Patient:
	case p.queue == nil:
		defer p.mu.Unlock()
		return nil, p.refusal(why, c)
	default:
		queued, err := p.queue.Take(c)
		if err != nil {
			p.mu.Unlock()
			return nil, err
		}
		defer queued.Leave()
		timer := time.NewTimer(p.spec.Within)
		defer timer.Stop()
		late = timer.C
	}
	w := &waiter{caller: c, ready: make(chan *Held, 1)}
	p.queued(w)
	p.mu.Unlock()
	select {
	case held := <-w.ready:
		return held, nil
	case <-ctx.Done():
		return p.tired(w, ctx.Err)
	case <-late:
		return p.tired(w, func() error { return p.refusal(why, c) })
	}
}

// tired ends waiting, unless a place came meanwhile.
func (p *Places) tired(w *waiter, why func() error) (*Held, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case held := <-w.ready:
		return held, nil
	default:
	}
	p.leave(w)
	return nil, why()
}

// fits returns why a caller cannot have places, empty if they can. The caller holds mu.
func (p *Places) fits(c Caller, places int) reason {
	free := p.spec.Size - p.spec.Reserve
	own, together := p.callers[c.Name], p.projects[c.Project]
	switch {
	case p.used+places > p.spec.Size:
		return full
	case p.spec.Share > 0 && own+places > p.spec.Share:
		return ofCaller
	case c.Reserved:
		return ""
	case p.used+places > free:
		return reserved
	case own+places > p.share(own, cmp.Or(p.spec.Share, free)):
		return ofCaller
	case c.Project != "" && together+places > p.share(together, free):
		return ofProject
	}
	return ""
}

// share is a half of what the others leave to one who has so many, up to the most.
func (p *Places) share(own, most int) int {
	return max(0, min(most, Share(p.spec.Size-p.spec.Reserve, p.used-own)))
}

// Share is what one may have of so many places, of which others have some: a half of what
// they leave. It is for places that are counted elsewhere, such as in rows.
func Share(size, others int) int { return (size - others + 1) / 2 }

// give gives places. The caller holds mu.
func (p *Places) give(c Caller, places int) *Held {
	h := &Held{from: p, caller: c}
	h.change(places)
	return h
}

// change adds places, or takes some back. The caller holds mu of the pool.
func (h *Held) change(places int) {
	p := h.from
	h.places += places
	p.used += places
	count(p.callers, h.caller.Name, places)
	if h.caller.Project != "" {
		count(p.projects, h.caller.Project, places)
	}
}

func count(of map[string]int, key string, more int) {
	if of[key] += more; of[key] == 0 {
		delete(of, key)
	}
}

// Grow adds places, also above the share and the size, or takes some back: what is held
// has grown by itself.
func (h *Held) Grow(places int) {
	h.from.mu.Lock()
	defer h.from.mu.Unlock()
	if !h.left {
		h.change(places)
		h.from.hand()
	}
}

// Leave gives all places back. It may be called more than once, and on nil.
func (h *Held) Leave() {
	if h == nil {
		return
	}
	h.from.mu.Lock()
	defer h.from.mu.Unlock()
	h.left = true
	h.change(-h.places)
	h.from.hand()
}

// hand gives free places to those who wait. Whoever gets one has had a turn: the others of
// the same caller or project then wait behind everybody else, so that however many they are,
// nobody waits longer than for one of them. The caller holds mu.
func (p *Places) hand() {
	for next := p.next(); next != nil; next = p.next() {
		next.ready <- p.give(next.caller, 1)
		p.leave(next)
		if party := next.caller.party(); len(p.waiting[party]) > 0 {
			p.last(party)
		}
	}
}

// last gives a party the last turn. The caller holds mu.
func (p *Places) last(party string) {
	p.turns = append(slices.DeleteFunc(p.turns, func(other string) bool { return other == party }), party)
}

// next is the first who waits and can have a place, nil for nobody. Of a project that can
// have none, nobody else is asked: thousands may wait. The caller holds mu.
func (p *Places) next() *waiter {
	for party := range p.order {
		for _, w := range p.waiting[party] {
			switch p.fits(w.caller, 1) {
			case "":
				return w
			case full:
				return nil
			case ofCaller:
				if w.caller.Project != "" {
					continue
				}
			}
			break
		}
	}
	return nil
}

// queued adds one who waits, and leave takes one out. The caller holds mu.
func (p *Places) queued(w *waiter) {
	party := w.caller.party()
	if len(p.waiting[party]) == 0 {
		p.turns = append(p.turns, party)
	}
	p.waiting[party] = append(p.waiting[party], w)
}

func (p *Places) leave(w *waiter) {
	party := w.caller.party()
	if p.waiting[party] = slices.DeleteFunc(p.waiting[party], func(other *waiter) bool { return other == w }); len(p.waiting[party]) == 0 {
		delete(p.waiting, party)
		p.turns = slices.DeleteFunc(p.turns, func(other string) bool { return other == party })
	}
}

// Used returns how many places are taken.
func (p *Places) Used() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}

// Size returns how many places there are.
func (p *Places) Size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spec.Size
}

// refusal counts and words a refusal. The caller holds mu.
func (p *Places) refusal(why reason, c Caller) error {
	p.kind.refuse(why)
	own := p.callers[c.Name]
	share := fmt.Sprint(p.share(own, cmp.Or(p.spec.Share, p.spec.Size)))
	if c.Reserved && p.spec.Share == 0 {
		share = "all of them"
	}
	var text string
	switch why {
	case full:
		text = fmt.Sprintf("all %d places for %s are taken%s; your share is %s now, and you have %d", p.spec.Size, p.spec.Of, p.by(), share, own)
	case reserved:
		text = fmt.Sprintf("the last %d of %d places for %s are for administrators%s; your share is %s now, and you have %d", p.spec.Reserve, p.spec.Size, p.spec.Of, p.by(), share, own)
	case ofCaller:
		text = fmt.Sprintf("your share of the %d places for %s is %s now, and you have %d; end some", p.spec.Size, p.spec.Of, share, own)
	case ofProject:
		own := p.projects[c.Project]
		text = fmt.Sprintf("the share of your project or network of the %d places for %s is %d now, and it has %d", p.spec.Size, p.spec.Of, p.share(own, p.spec.Size), own)
	}
	return exhausted(text, p.spec.Name, p.spec.Retry+jitter.Full(p.spec.Spread))
}

// exhausted is the error of each refusal.
func exhausted(text, name string, wait time.Duration) error {
	err := errcode.New(errcode.Exhausted, "").After(max(wait, time.Second))
	err.Message = fmt.Sprintf("%s; try again in %d s (pool %s)", text, errcode.RetrySeconds(err), name)
	return err
}

// by names the callers with the most places. The caller holds mu.
func (p *Places) by() string {
	if !p.spec.Named {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(p.callers), func(a, b string) int {
		return cmp.Or(cmp.Compare(p.callers[b], p.callers[a]), strings.Compare(a, b))
	})
	var parts []string
	for _, name := range names[:min(len(names), 3)] {
		parts = append(parts, fmt.Sprintf("%s %d", name, p.callers[name]))
	}
	if more := len(names) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("%d others", more))
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
