// Package pace schedules when the agent of a repository asks its upstream: at
// polls, and soon after a kick, but never twice within the gap, and with
// growing pauses while upstream fails. Gates limits what all agents of a
// replica together ask of one host. Retries delays further requests for content
// that could not be fetched. It does not know what a pass does; agents of all
// kinds use it.
//
//	waiting --(poll due, kick with a token)--> pass --> waiting
//
// Invariants: two passes never overlap and start at least Gap apart; a kick is
// never dropped, several kicks are merged into one, and at most Burst of them
// start passes at once, then one per three gaps; a waiter is told about a pass
// that began after its call. While upstream fails, only a kick begins a pass
// before the next poll, and a failed kick does not move that poll.
package pace

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// Burst is how many kicks may start passes at the rate of the gap.
	Burst = 4
	// gapsPerKick is the number of gaps after which one more kick may.
	gapsPerKick = 3
)

// Config configures a Pacer. All fields are required.
type Config struct {
	Clock clock.Clock
	// Gap is the minimum time between the starts of two passes.
	Gap time.Duration
	// Poll is the time between passes while upstream is healthy, and Spread the
	// most that is added to it at random.
	Poll, Spread time.Duration
}

// Pacer runs passes one after another. Call Run once; Kick and the similar
// methods are safe for concurrent use.
type Pacer struct {
	config  Config
	wake    chan struct{} // holds one; signals that pending changed
	failing atomic.Bool

	mu      sync.Mutex
	pending pending
	ended   bool
	last    error     // of the last pass
	lookAt  time.Time // when to evaluate sources again; zero is never

	// The following fields belong to the goroutine of Run.
	bucket    *rate.Limiter
	lastStart time.Time
	nextPoll  time.Time
	notBefore time.Time // upstream's rate limit applies until then
	failures  int       // failed polls in a row
	read      bool      // upstream was read at least once
	planned   bool      // the pass called Plan
	urgent    bool      // the pass was kicked
}

// pending is what callers requested and Run has not begun.
type pending struct {
	kick    bool // make a pass, and spend a token
	again   bool // make a pass, for the agent's own reasons
	sources bool // the set of sources changed
	waiters []chan<- error
}

// Steps are the agent's functions that Run calls.
type Steps struct {
	// Pass asks upstream; urgent is set when it was kicked. An error with code
	// Conflict ends Run: another replica has the lease.
	Pass func(ctx context.Context, urgent bool) error
	// SourcesChanged evaluates sources without asking upstream.
	SourcesChanged func(ctx context.Context)
	// Reconfigured reports whether the repository's row differs from the one
	// last used. A changed one is tried soon, as after a kick.
	Reconfigured func(ctx context.Context) bool
}

// New returns a pacer that polls at once.
func New(c Config) *Pacer {
	return &Pacer{config: c, wake: make(chan struct{}, 1), nextPoll: c.Clock.Now(), last: errNoPass,
		bucket: rate.NewLimiter(rate.Every(gapsPerKick*c.Gap), Burst)}
}

// Kick requests a pass soon. It returns at once; several kicks are merged into
// one.
func (p *Pacer) Kick() { p.request(func(q *pending) { q.kick = true }) }

// Again requests a pass as soon as the gap allows, without a token. While
// upstream fails it waits for the next poll.
func (p *Pacer) Again() { p.request(func(q *pending) { q.again = true }) }

// SourcesChanged tells the pacer that the set of sources in use may have
// changed.
func (p *Pacer) SourcesChanged() { p.request(func(q *pending) { q.sources = true }) }

// LookAt requests an evaluation of the sources at that time or before.
func (p *Pacer) LookAt(t time.Time) {
	p.mu.Lock()
	if p.lookAt.IsZero() || t.Before(p.lookAt) {
		p.lookAt = t
	}
	p.mu.Unlock()
	p.request(func(*pending) {})
}

func (p *Pacer) request(change func(*pending)) {
	p.mu.Lock()
	change(&p.pending)
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

var (
	errStopped = errcode.New(errcode.Unavailable, "this replica stopped following the repository; try again")
	errNoPass  = errcode.New(errcode.Unavailable, "the repository was not read yet; try again in a moment")
)

// KickAndWait requests a pass and returns the error of one that began after the
// call.
func (p *Pacer) KickAndWait(ctx context.Context) error {
	done := make(chan error, 1)
	p.request(func(q *pending) {
		if p.ended {
			done <- errStopped
			return
		}
		q.kick, q.waiters = true, append(q.waiters, done)
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return errcode.Hide(errcode.Unavailable, ctx.Err(), "the repository was not read in time; the fetch continues, try again later")
	}
}

// Failing reports whether the last poll failed.
func (p *Pacer) Failing() bool { return p.failing.Load() }

// Last returns the error of the last pass, or an error that there was none yet.
func (p *Pacer) Last() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// Run makes passes until ctx ends or a pass reports that the lease is lost.
func (p *Pacer) Run(ctx context.Context, steps Steps) error {
	defer p.end()
	for ctx.Err() == nil {
		work := p.take()
		p.prepare(ctx, steps, &work)
		start, ok := p.startAt(work)
		if ok {
			err := p.pass(ctx, steps, work)
			if errcode.Is(err, errcode.Conflict) {
				return err
			}
			continue
		}
		p.putBack(work)
		if look := p.looksAt(); !look.IsZero() && look.Before(start) {
			start = look
		}
		select {
		case <-ctx.Done():
		case <-p.wake:
		case <-p.config.Clock.After(start.Sub(p.config.Clock.Now())):
		}
	}
	return nil
}

// prepare does the work that needs no pass.
func (p *Pacer) prepare(ctx context.Context, steps Steps, work *pending) {
	resting := p.notBefore.After(p.config.Clock.Now())
	if (work.sources || resting && len(work.waiters) > 0) && steps.Reconfigured(ctx) {
		work.kick, p.notBefore, resting = true, time.Time{}, false
	}
	if resting {
		// Upstream's rate limit applies; what they kicked for runs afterwards.
		for _, w := range work.waiters {
			w <- p.Last()
		}
		work.waiters = nil
	}
	if !work.sources {
		return
	}
	if _, due := p.peek(*work); !due {
		steps.SourcesChanged(ctx)
		work.sources = false
	}
}

func (p *Pacer) pass(ctx context.Context, steps Steps, work pending) error {
	p.lastStart = p.config.Clock.Now()
	p.planned, p.urgent = false, work.kick
	err := steps.Pass(ctx, work.kick)
	if !p.planned {
		p.Plan(err)
	}
	p.mu.Lock()
	p.last = err
	p.mu.Unlock()
	for _, w := range work.waiters {
		w <- err
	}
	return err
}

// Started moves the last start to now. A pass that had to wait before it could
// begin calls it when it contacts upstream.
func (p *Pacer) Started() { p.lastStart = p.config.Clock.Now() }

// Due reports whether a caller waits for a pass that may begin now. A running
// pass uses it to keep itself short.
func (p *Pacer) Due() bool {
	p.mu.Lock()
	work := p.pending
	p.mu.Unlock()
	if !work.kick && !work.again {
		return false
	}
	_, due := p.peek(work)
	return due
}

// take removes what is pending, so that requests during a pass count for the
// next one.
func (p *Pacer) take() pending {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.pending
	p.pending = pending{}
	if !p.lookAt.IsZero() && !p.lookAt.After(p.config.Clock.Now()) {
		p.lookAt, taken.sources = time.Time{}, true
	}
	return taken
}

func (p *Pacer) looksAt() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lookAt
}

func (p *Pacer) putBack(work pending) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending.kick = p.pending.kick || work.kick
	p.pending.again = p.pending.again || work.again
	p.pending.sources = p.pending.sources || work.sources
	p.pending.waiters = append(work.waiters, p.pending.waiters...)
}

// peek returns when the next pass may begin, and whether that is now, without
// spending a token.
func (p *Pacer) peek(work pending) (time.Time, bool) {
	now := p.config.Clock.Now()
	earliest := p.lastStart.Add(p.config.Gap)
	if p.notBefore.After(earliest) {
		earliest = p.notBefore
	}
	at := p.nextPoll
	if work.again && p.failures == 0 {
		at = now
	}
	if work.kick {
		r := p.bucket.ReserveN(now, 1)
		kicked := now.Add(r.DelayFrom(now))
		r.CancelAt(now)
		if kicked.Before(at) {
			at = kicked
		}
	}
	if at.Before(earliest) {
		at = earliest
	}
	return at, !at.After(now)
}

// startAt is peek, but spends the token when a kick begins the pass.
func (p *Pacer) startAt(work pending) (time.Time, bool) {
	at, ok := p.peek(work)
	now := p.config.Clock.Now()
	if ok && work.kick && !(work.again && p.failures == 0) && p.nextPoll.After(now) {
		p.bucket.AllowN(now, 1)
	}
	return at, ok
}

// end tells all waiters that Run has ended.
func (p *Pacer) end() {
	p.mu.Lock()
	waiters := p.pending.waiters
	p.pending, p.ended = pending{}, true
	p.mu.Unlock()
	for _, w := range waiters {
		w <- errStopped
	}
}
