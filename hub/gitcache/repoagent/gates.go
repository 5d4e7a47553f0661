package repoagent

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/pool"
)

// The number of concurrent requests: to one host, and to all, of which one project
// has a half. First copies are long and need memory, so they leave places for
// fetches of repositories that are here already.
const (
	perHost, bulkPerHost = 64, 16
	overall, bulkOverall = 128, 24
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
var ErrClosed = errors.New("the host is not asked")

// Gates limit the requests of one replica to the hosts of upstreams: all
// requests to a host (listings, fetches, charts, LFS files) pass the same gate.
// A host that fails for all repositories is closed; then one request at a time
// tests whether it is back. Whoever is above the share of their project waits, and
// others pass. The nil value limits nothing.
//
//	open --3 failures in a row--> closed --time--> one asks --well--> open
//	                                 ^----------------failed---'
type Gates struct {
	clock clock.Clock

	// all are the places of this replica, and each the ones that every host has again.
	all, each places

	mu    sync.Mutex
	hosts map[string]*host
}

// places are those of requests, and of the first copies among them.
type places struct{ requests, bulk *pool.Places }

type host struct {
	name     string
	places   places
	waiting  [3][]*waiter // urgent, others, bulk
	failures int          // in a row
	closings int          // in a row
	closedAt time.Time
	openAt   time.Time // zero while it is open
	kicks    *rate.Limiter
}

type waiter struct {
	turn  Turn
	held  []*pool.Held
	ready chan error // holds one
}

// Turn describes a request to a host.
type Turn struct {
	// Host is the result of HostOf.
	Host string
	// Caller is who has a share: the repository, and its project.
	Caller pool.Caller
	// Urgent is set for a request that a person or a webhook kicked.
	Urgent bool
	// Bulk is set for a first copy.
	Bulk bool
}

// NewGates returns gates that are open.
func NewGates(c clock.Clock, pools *pool.Set) *Gates {
	make := func(name, of string, size int) *pool.Places {
		return pools.Places(pool.Spec{Name: name, Of: of, Size: size, Retry: time.Second})
	}
	return &Gates{
		clock: c, hosts: map[string]*host{},
		all:  places{make("upstream_requests", "requests to upstreams", overall), make("first_copies", "first copies of repositories", bulkOverall)},
		each: places{make("host_requests", "requests to a host", perHost), make("host_first_copies", "first copies from a host", bulkPerHost)},
	}
}

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
		h = &host{name: t.Host, kicks: rate.NewLimiter(rate.Every(kickedEvery), Burst), places: places{g.each.requests.Another("requests to " + t.Host), g.each.bulk.Another("first copies from " + t.Host)}}
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
	return func(err error) { once.Do(func() { g.leave(h, w, began, err) }) }, nil
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
	case h.places.requests.Used() == 0 && wait <= 0:
		return nil // this request tests the host
	case t.Urgent && h.kicks.AllowN(now, 1):
		return nil
	}
	return errcode.Hide(errcode.Unavailable, ErrClosed, "%s failed again and again and is not asked for a while; what was fetched stays in use", h.name).
		After(max(wait, firstClosed/2))
}

// admit gives turns to waiters, in the order of their ranks, as far as there are places
// for their projects. The caller holds the lock.
func (g *Gates) admit(h *host) {
	for rank := range h.waiting {
		h.waiting[rank] = slices.DeleteFunc(h.waiting[rank], func(w *waiter) bool {
			if w.held = g.take(h, w.turn); w.held == nil {
				return false
			}
			w.ready <- nil
			return true
		})
	}
}

// take takes a place of each pool of a turn, or none. The caller holds the lock.
func (g *Gates) take(h *host, t Turn) (held []*pool.Held) {
	of := []*pool.Places{h.places.requests, g.all.requests}
	if t.Bulk {
		of = append(of, h.places.bulk, g.all.bulk)
	}
	for _, p := range of {
		one := p.Try(t.Caller)
		if one == nil {
			giveBack(held)
			return nil
		}
		held = append(held, one)
	}
	return held
}

func giveBack(held []*pool.Held) {
	for _, one := range held {
		one.Leave()
	}
}

// abandon removes a waiter that gave up.
func (g *Gates) abandon(h *host, w *waiter, why error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	rank := w.turn.rank()
	if at := slices.Index(h.waiting[rank], w); at >= 0 {
		h.waiting[rank] = slices.Delete(h.waiting[rank], at, at+1)
		g.forget(h)
		return why
	}
	// Its turn, or its refusal, came at the same moment.
	if err := <-w.ready; err != nil {
		return err
	}
	g.end(h, w)
	return why
}

// leave ends a turn and records the host's result.
func (g *Gates) leave(h *host, w *waiter, began time.Time, err error) {
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
			for _, other := range h.waiting[rank] {
				other.ready <- g.closed(h, Turn{Host: h.name})
			}
			h.waiting[rank] = nil
		}
	}
	g.end(h, w)
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
func (g *Gates) end(h *host, w *waiter) {
	giveBack(w.held)
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
		if h.places.requests.Used() == 0 && g.clock.Now().Sub(h.closedAt) > 2*maxClosed {
			g.drop(name, h)
		}
	}
}

// forget drops a host without any state to remember. The caller holds the lock.
func (g *Gates) forget(h *host) {
	if h.places.requests.Used() == 0 && h.failures == 0 && len(h.waiting[0])+len(h.waiting[1])+len(h.waiting[2]) == 0 {
		g.drop(h.name, h)
	}
}

func (g *Gates) drop(name string, h *host) {
	h.places.requests.Close()
	h.places.bulk.Close()
	delete(g.hosts, name)
}
