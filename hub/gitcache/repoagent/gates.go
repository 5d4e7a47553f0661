package repoagent

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
)

// The number of concurrent requests: to one host, and to all. First copies are
// long and need memory, so they leave slots for fetches of repositories that
// are here already.
const (
	perHost, bulkPerHost = 32, 8
	overall, bulkOverall = 64, 16
)

const (
	// closeAfter is how many failures in a row, of any repositories, close a
	// host.
	closeAfter = 3
	// firstClosed is how long a host is closed at first, at most; it doubles up
	// to maxClosed. At least half of it passes.
	firstClosed = 10 * time.Second
	maxClosed   = 5 * time.Minute
	// kickedEvery is the time after which one more kick may reach a closed
	// host, in addition to Burst kicks.
	kickedEvery = 15 * time.Second
)

// ErrClosed is wrapped in the errors of requests to a closed host.
var ErrClosed = errors.New("the host is left alone")

// Gates limit the requests of one replica to the hosts of upstreams: all
// requests to a host (listings, fetches, charts, LFS files) pass the same gate.
// A host that fails for all repositories is closed; then one request at a time
// tests whether it is back. The nil value limits nothing.
//
//	open --3 failures in a row--> closed --time--> one asks --well--> open
//	                                 ^----------------failed---'
type Gates struct {
	clock clock.Clock

	mu      sync.Mutex
	hosts   map[string]*host
	running count
}

type count struct{ all, bulk int }

type host struct {
	name     string
	running  count
	waiting  [3][]*waiter // urgent, others, bulk
	failures int          // in a row
	closings int          // in a row
	closedAt time.Time
	openAt   time.Time // zero while it is open
	kicks    *rate.Limiter
}

type waiter struct {
	turn  Turn
	ready chan error // holds one
}

// Turn describes a request to a host.
type Turn struct {
	// Host is the result of HostOf.
	Host string
	// Urgent is set for a request that a person or a webhook kicked.
	Urgent bool
	// Bulk is set for a first copy.
	Bulk bool
}

// NewGates returns gates that are open.
func NewGates(c clock.Clock) *Gates { return &Gates{clock: c, hosts: map[string]*host{}} }

// HostOf returns the name of the gate for a URL: the host, with its port unless
// that is one of the standard ports of Git servers.
func HostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		// The short form of ssh is user@host:path.
		name, _, _ := strings.Cut(raw, ":")
		_, name, found := strings.Cut(name, "@")
		if !found {
			return ""
		}
		return strings.ToLower(name)
	}
	switch u.Port() {
	case "", "22", "80", "443":
		return strings.ToLower(u.Hostname())
	}
	return strings.ToLower(u.Host)
}

// Enter waits for a turn. The caller must then call leave with the host's
// result: nil, or an error. Errors that are Unavailable, without a retry time,
// count against the host. While the host is closed, Enter returns Unavailable
// at once, with ErrClosed and the time to wait.
func (g *Gates) Enter(ctx context.Context, t Turn) (leave func(error), err error) {
	if g == nil || t.Host == "" {
		return func(error) {}, nil
	}
	g.mu.Lock()
	h := g.hosts[t.Host]
	if h == nil {
		g.prune()
		h = &host{name: t.Host, kicks: rate.NewLimiter(rate.Every(kickedEvery), Burst)}
		g.hosts[t.Host] = h
	}
	if err := g.closed(h, t); err != nil {
		g.mu.Unlock()
		return nil, err
	}
	w := &waiter{turn: t, ready: make(chan error, 1)}
	h.waiting[t.rank()] = append(h.waiting[t.rank()], w)
	g.admit(h)
	g.mu.Unlock()
	select {
	case err = <-w.ready:
	case <-ctx.Done():
		err = g.abandon(h, w, ctx.Err())
	}
	if err != nil {
		return nil, err
	}
	began := g.clock.Now()
	var once sync.Once
	return func(err error) { once.Do(func() { g.leave(h, t, began, err) }) }, nil
}

func (t Turn) rank() int {
	switch {
	case t.Urgent:
		return 0
	case t.Bulk:
		return 2
	}
	return 1
}

// closed returns the error when a host may not be contacted now. The caller
// holds the lock.
func (g *Gates) closed(h *host, t Turn) error {
	if h.openAt.IsZero() {
		return nil
	}
	now := g.clock.Now()
	wait := h.openAt.Sub(now)
	switch {
	case h.running.all == 0 && wait <= 0:
		return nil // this request tests the host
	case t.Urgent && h.kicks.AllowN(now, 1):
		return nil
	}
	return errcode.Hide(errcode.Unavailable, ErrClosed, "%s failed again and again and is left alone for a while; what was fetched stays in use", h.name).
		After(max(wait, firstClosed/2))
}

// admit gives turns to waiters, in the order of their ranks. The caller holds
// the lock.
func (g *Gates) admit(h *host) {
	for rank := range h.waiting {
		for len(h.waiting[rank]) > 0 {
			w := h.waiting[rank][0]
			bulk := w.turn.Bulk
			if h.running.all >= perHost || g.running.all >= overall || bulk && (h.running.bulk >= bulkPerHost || g.running.bulk >= bulkOverall) {
				break
			}
			h.waiting[rank] = h.waiting[rank][1:]
			h.running.add(bulk, 1)
			g.running.add(bulk, 1)
			w.ready <- nil
		}
	}
}

func (c *count) add(bulk bool, n int) {
	c.all += n
	if bulk {
		c.bulk += n
	}
}

// abandon removes a waiter that gave up.
func (g *Gates) abandon(h *host, w *waiter, why error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	rank := w.turn.rank()
	for i, other := range h.waiting[rank] {
		if other == w {
			h.waiting[rank] = append(h.waiting[rank][:i:i], h.waiting[rank][i+1:]...)
			g.forget(h)
			return why
		}
	}
	// Its turn, or its refusal, came at the same moment.
	if err := <-w.ready; err != nil {
		return err
	}
	g.end(h, w.turn)
	return why
}

// leave ends a turn and records the host's result.
func (g *Gates) leave(h *host, t Turn, began time.Time, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case errors.Is(err, context.Canceled):
	case !failed(err):
		h.failures, h.closings, h.openAt = 0, 0, time.Time{}
	default:
		g.count(h, began)
	}
	if !h.openAt.IsZero() {
		for rank := range h.waiting {
			for _, w := range h.waiting[rank] {
				w.ready <- g.closed(h, Turn{Host: h.name})
			}
			h.waiting[rank] = nil
		}
	}
	g.end(h, t)
}

// failed reports whether an error is the host's, and not about a repository or
// its credentials. An error with a retry time is a rate limit for one client,
// which does not affect others.
func failed(err error) bool {
	return errcode.Is(err, errcode.Unavailable) && errcode.RetryAfter(err) == 0
}

// count records a failure. A request that began before the host was closed is
// ignored, and a kicked one does not move the host's time. The caller holds the
// lock.
func (g *Gates) count(h *host, began time.Time) {
	h.failures++
	now := g.clock.Now()
	if h.failures < closeAfter || h.openAt.After(now) || began.Before(h.closedAt) {
		return
	}
	h.closings++
	h.closedAt = now
	limit := min(maxClosed, firstClosed<<min(h.closings-1, maxDoubled))
	h.openAt = now.Add(limit/2 + jitter.Full(limit/2))
}

// end frees a turn for the next waiter. The caller holds the lock.
func (g *Gates) end(h *host, t Turn) {
	h.running.add(t.Bulk, -1)
	g.running.add(t.Bulk, -1)
	g.forget(h)
	for _, other := range g.hosts {
		g.admit(other)
	}
}

// maxHosts is how many hosts are remembered before unused ones are dropped.
const maxHosts = 1_000

// prune drops unused hosts that failed once. The caller holds the lock.
func (g *Gates) prune() {
	if len(g.hosts) < maxHosts {
		return
	}
	for name, h := range g.hosts {
		if h.running.all == 0 && g.clock.Now().Sub(h.closedAt) > 2*maxClosed {
			delete(g.hosts, name)
		}
	}
}

// forget drops a host without any state to remember. The caller holds the lock.
func (g *Gates) forget(h *host) {
	if h.running.all == 0 && h.failures == 0 && len(h.waiting[0])+len(h.waiting[1])+len(h.waiting[2]) == 0 {
		delete(g.hosts, h.name)
	}
}
