package login

import (
	"container/list"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/address"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// maxCounters limits how many counters are kept. Beyond it, the least recently
// used is dropped.
const maxCounters = 20000

// rate is how many at once, and how long until one more.
type rate struct {
	burst int
	every time.Duration
}

var (
	// guessRate limits the wrong passwords or codes of one source for an account.
	guessRate = rate{burst: 5, every: 30 * time.Second}
	// tryRate limits all requests of one source without a session, whatever the
	// account.
	tryRate = rate{burst: 60, every: 2 * time.Second}
)

// limiter counts in memory, separately on each replica.
type limiter struct {
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

func newLimiter(c clock.Clock, most int) *limiter {
	return &limiter{clock: c, max: most, counters: map[string]*list.Element{}, order: list.New()}
}

// take counts one use of a key, or returns how long until one is allowed.
func (l *limiter) take(key string, r rate) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	c := l.counter(key)
	start := c.full
	if start.Before(now) {
		start = now
	}
	next := start.Add(r.every)
	if over := next.Sub(now) - time.Duration(r.burst)*r.every; over > 0 {
		return over
	}
	c.full = next
	return 0
}

// look returns how long until a use of a key is allowed, and counts none.
func (l *limiter) look(key string, r rate) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.counters[key]
	if !ok {
		return 0
	}
	return max(0, e.Value.(*counter).full.Add(r.every).Sub(l.clock.Now())-time.Duration(r.burst)*r.every)
}

// giveBack undoes a take, for a guess that was right.
func (l *limiter) giveBack(key string, r rate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.counters[key]; ok {
		c := e.Value.(*counter)
		c.full = c.full.Add(-r.every)
	}
}

// counter returns a key's counter, creates a missing one, and moves it to the front.
func (l *limiter) counter(key string) *counter {
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

func (l *limiter) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.counters)
}

// sourceOf returns the address that a request came from; for IPv6 the 64-bit
// network, which one customer has exclusively.
func sourceOf(r *http.Request) string {
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

// known marks a browser that has logged in to an account by password.
type known struct {
	Account string `json:"a"`
	ID      string `json:"i"`
}

// guess counts one guess at an account, and returns a function to take it back.
// The counter belongs to the account and the source of the guess, or to the
// browser when it has logged in to the account before: guesses from elsewhere
// use another counter.
func (s *Server) guess(r *http.Request, account string) (right func(), err error) {
	account = strings.ToLower(strings.TrimSpace(account))
	from := sourceOf(r)
	var k known
	if s.open(r, cookieKnown, &k) && k.Account == account {
		from = "browser " + k.ID
	} else if err := s.try(r); err != nil {
		return nil, err
	}
	key := "guess " + account + " " + from
	if wait := s.limits.take(key, guessRate); wait > 0 {
		return nil, tooMany(wait)
	}
	return func() { s.limits.giveBack(key, guessRate) }, nil
}

// try counts one request of a source.
func (s *Server) try(r *http.Request) error {
	if wait := s.limits.take("try "+sourceOf(r), tryRate); wait > 0 {
		return tooMany(wait)
	}
	return nil
}

func tooMany(wait time.Duration) error {
	seconds := int(wait/time.Second) + 1
	return errcode.New(errcode.Exhausted, "too many attempts from here; try again in %d s. Others, and browsers that have logged in before, are not held up", seconds).After(wait)
}
