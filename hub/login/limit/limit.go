// Package limit counts what each source does, in memory and separately on each replica.
// hub/login asks it before it looks at a password, a code or a token.
//
// Invariants: the counters are bounded; beyond the bound the least recently used one is
// dropped. A counter that was dropped is a full one.
package limit

import (
	"container/list"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/address"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// Rate is how many at once, and how long until one more.
type Rate struct {
	Burst int
	Every time.Duration
}

// Counters count uses by key.
type Counters struct {
	clock clock.Clock
	max   int

	mu       sync.Mutex
	counters map[string]*list.Element
	// order has the most recently used counter at its front.
	order *list.List
}

type counter struct {
	key string
	// full is when the counter will be full again.
	full time.Time
}

// New returns counters that keep at most so many keys.
func New(c clock.Clock, most int) *Counters {
	return &Counters{clock: c, max: most, counters: map[string]*list.Element{}, order: list.New()}
}

// Take counts one use of a key, or returns how long until one is allowed.
func (l *Counters) Take(key string, r Rate) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	c := l.counter(key)
	start := c.full
	if start.Before(now) {
		start = now
	}
	next := start.Add(r.Every)
	if over := next.Sub(now) - time.Duration(r.Burst)*r.Every; over > 0 {
		return over
	}
	c.full = next
	return 0
}

// Look returns how long until a use of a key is allowed, and counts none.
func (l *Counters) Look(key string, r Rate) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.counters[key]
	if !ok {
		return 0
	}
	return max(0, e.Value.(*counter).full.Add(r.Every).Sub(l.clock.Now())-time.Duration(r.Burst)*r.Every)
}

// GiveBack undoes a Take, for a guess that was right.
func (l *Counters) GiveBack(key string, r Rate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.counters[key]; ok {
		c := e.Value.(*counter)
		c.full = c.full.Add(-r.Every)
	}
}

// counter returns a key's counter, creates a missing one, and moves it to the front.
func (l *Counters) counter(key string) *counter {
	if e, ok := l.counters[key]; ok {
		l.order.MoveToFront(e)
		return e.Value.(*counter)
	}
	if len(l.counters) >= l.max {
		last := l.order.Back()
		delete(l.counters, last.Value.(*counter).key)
		l.order.Remove(last)
	}
	c := &counter{key: key}
	l.counters[key] = l.order.PushFront(c)
	return c
}

func (l *Counters) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.counters)
}

// Source returns the address that a request came from; for IPv6 the 64-bit
// network, which one customer has exclusively.
func Source(r *http.Request) string {
	host := address.Host(r.RemoteAddr)
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if ip = ip.Unmap().WithZone(""); ip.Is6() {
		if net64, err := ip.Prefix(64); err == nil {
			return net64.String()
		}
	}
	return ip.String()
}

// TooMany is the error of a wait.
func TooMany(wait time.Duration) error {
	seconds := int(wait/time.Second) + 1
	return errcode.New(errcode.Exhausted, "too many attempts from here; try again in %d s. Others, and browsers that have logged in before, are not held up", seconds).After(wait)
}
