package poll

import "sync"

// hints collect what watches report until the loop looks at it: watches must not wait for
// a pass, nor the loop for them. A hint is taken exactly once, and Wake is full while one
// is untaken that was followed by a Poke. The methods are safe for concurrent use.
type hints struct {
	// Wake receives a value after Poke.
	Wake chan struct{}

	mu    sync.Mutex
	taken takenHints
}

// takenHints holds the hints since the last time. Touched are services whose status must be
// checked, News those of them whose objects changed, NeedPass those that must be
// rendered again; APIs: the served kinds changed.
type takenHints struct {
	Touched, News, NeedPass map[string]bool
	APIs                    bool
}

func noHints() takenHints {
	return takenHints{Touched: map[string]bool{}, News: map[string]bool{}, NeedPass: map[string]bool{}}
}

func newHints() *hints { return &hints{Wake: make(chan struct{}, 1), taken: noHints()} }

// Touch has the status of a service checked at the next Poke.
func (h *hints) Touch(id string) { h.add(func(t *takenHints) { t.Touched[id] = true }) }

// Changed says that the objects of a service changed.
func (h *hints) Changed(id string) {
	h.add(func(t *takenHints) { t.Touched[id], t.News[id] = true, true })
	h.Poke()
}

// NeedPass says that a service must be rendered again.
func (h *hints) NeedPass(id string) {
	h.add(func(t *takenHints) { t.NeedPass[id] = true })
	h.Poke()
}

// APIs says that the kinds that the cluster serves changed.
func (h *hints) APIs() {
	h.add(func(t *takenHints) { t.APIs = true })
	h.Poke()
}

func (h *hints) add(hint func(*takenHints)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	hint(&h.taken)
}

// Poke wakes the loop.
func (h *hints) Poke() {
	select {
	case h.Wake <- struct{}{}:
	default:
	}
}

// Take returns the hints and forgets them.
func (h *hints) Take() takenHints {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.taken
	h.taken = noHints()
	return t
}
