package clock

import (
	"sync"
	"time"
)

// Manual is a clock that stands still until Advance moves it. The zero value starts
// at the zero time; NewManual sets the start.
type Manual struct {
	mu     sync.Mutex
	now    time.Time
	timers []manualTimer
}

type manualTimer struct {
	at time.Time
	c  chan time.Time
}

// NewManual returns a clock that shows start.
func NewManual(start time.Time) *Manual { return &Manual{now: start} }

// Now returns the time the clock was moved to.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// After delivers after the clock was advanced by d.
func (m *Manual) After(d time.Duration) <-chan time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := make(chan time.Time, 1)
	if d <= 0 {
		c <- m.now
		return c
	}
	m.timers = append(m.timers, manualTimer{m.now.Add(d), c})
	return c
}

// Advance moves the clock and fires the timers that came due.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
	rest := m.timers[:0]
	for _, t := range m.timers {
		if t.at.After(m.now) {
			rest = append(rest, t)
			continue
		}
		t.c <- m.now
	}
	m.timers = rest
}

// Waiting returns how many timers have not fired, and when the next will.
func (m *Manual) Waiting() (count int, next time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.timers {
		if next.IsZero() || t.at.Before(next) {
			next = t.at
		}
	}
	return len(m.timers), next
}
