// Package hint collects what watches report until the loop of agent/poll looks at it.
//
// It has its own lock and never blocks: watches must not wait for a pass, nor the loop
// for them. It does nothing about a hint; agent/poll takes all of them at once.
//
// Invariant: a hint is taken exactly once, and Wake is full while one is untaken that
// was followed by a Poke.
package hint

import "sync"

// Hints are the untaken hints. Its methods are safe for concurrent use.
type Hints struct {
	// Wake receives a value after Poke.
	Wake chan struct{}

	mu    sync.Mutex
	taken Taken
}

// Taken holds the hints since the last time. Touched are services whose status must be
// checked, News those of them whose objects changed, NeedPass those that must be
// rendered again; APIs: the served kinds changed.
type Taken struct {
	Touched, News, NeedPass map[string]bool
	APIs                    bool
}

func none() Taken {
	return Taken{Touched: map[string]bool{}, News: map[string]bool{}, NeedPass: map[string]bool{}}
}

// New returns Hints without hints.
func New() *Hints { return &Hints{Wake: make(chan struct{}, 1), taken: none()} }

// Touch has the status of a service checked at the next Poke.
func (h *Hints) Touch(id string) { h.add(func(t *Taken) { t.Touched[id] = true }) }

// Changed says that the objects of a service changed.
func (h *Hints) Changed(id string) {
	h.add(func(t *Taken) { t.Touched[id], t.News[id] = true, true })
	h.Poke()
}

// NeedPass says that a service must be rendered again.
func (h *Hints) NeedPass(id string) {
	h.add(func(t *Taken) { t.NeedPass[id] = true })
	h.Poke()
}

// APIs says that the kinds that the cluster serves changed.
func (h *Hints) APIs() {
	h.add(func(t *Taken) { t.APIs = true })
	h.Poke()
}

func (h *Hints) add(hint func(*Taken)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	hint(&h.taken)
}

// Poke wakes the loop.
func (h *Hints) Poke() {
	select {
	case h.Wake <- struct{}{}:
	default:
	}
}

// Take returns the hints and forgets them.
func (h *Hints) Take() Taken {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.taken
	h.taken = none()
	return t
}
