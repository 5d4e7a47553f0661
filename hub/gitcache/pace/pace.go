// Package pace decides when the agent of a repository asks its upstream: at
// polls, and soon after a kick, but never twice within the gap. It knows
// nothing of what a pass does; agents of all kinds but Git's own run under it.
//
//	waiting --(poll due, kick with a token)--> pass --> waiting
//
// Invariants: two passes never overlap and start at least Gap apart; a kick is
// never dropped, several are one, and at most Burst of them start passes at
// once, then one per three gaps; whoever waits hears of a pass that began
// after the call.
package pace

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// Burst is how many kicks may start passes as fast as the gap allows.
	Burst = 4
	// gapsPerKick is the time in gaps after which one more may.
	gapsPerKick = 3
)

// Pacer runs passes one after another. Run it once; Kick and its like may be
// called from anywhere.
type Pacer struct {
	clock clock.Clock
	gap   time.Duration
	wake  chan struct{} // holds one; says that pending changed

	mu      sync.Mutex
	pending pending
	ended   bool

	// What follows belongs to the goroutine of Run.
	bucket    *rate.Limiter
	lastStart time.Time
	nextPoll  time.Time
}

// pending is what callers asked for and Run has not begun.
type pending struct {
	kick    bool // make a pass, at the price of a token
	again   bool // make a pass, for the agent's own reasons
	sources bool // the set of sources changed
	waiters []chan<- error
}

// Steps are what an agent does when its time has come.
type Steps struct {
	// Pass asks upstream and returns when the next poll is due. An error with
	// code Conflict ends Run: the lease is another's.
	Pass func(ctx context.Context) (wait time.Duration, err error)
	// SourcesChanged looks at sources without asking upstream.
	SourcesChanged func(ctx context.Context)
}

// New returns a pacer that polls at once.
func New(c clock.Clock, gap time.Duration) *Pacer {
	return &Pacer{clock: c, gap: gap, wake: make(chan struct{}, 1), bucket: rate.NewLimiter(rate.Every(gapsPerKick*gap), Burst)}
}

// Kick asks for a pass soon. It returns at once; several kicks are one.
func (p *Pacer) Kick() { p.request(func(q *pending) { q.kick = true }) }

// Again asks for a pass as soon as the gap allows, without a token.
func (p *Pacer) Again() { p.request(func(q *pending) { q.again = true }) }

// SourcesChanged says that the set of sources in use may have changed.
func (p *Pacer) SourcesChanged() { p.request(func(q *pending) { q.sources = true }) }

func (p *Pacer) request(change func(*pending)) {
	p.mu.Lock()
	change(&p.pending)
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

var errStopped = errcode.New(errcode.Unavailable, "this replica stopped following the repository; try again")

// KickAndWait asks for a pass and returns the error of one that began after
// the call.
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
		return errcode.Hide(errcode.Unavailable, ctx.Err(), "the repository was not read in time; it will be, look again later")
	}
}

// Run makes passes until ctx ends or a pass says that the lease is gone.
func (p *Pacer) Run(ctx context.Context, steps Steps) error {
	defer p.end()
	p.nextPoll = p.clock.Now() // at once
	for ctx.Err() == nil {
		work := p.take()
		if work.sources {
			if _, due := p.peek(work); !due {
				steps.SourcesChanged(ctx)
				work.sources = false
			}
		}
		start, ok := p.startAt(work)
		if ok {
			err := p.pass(ctx, steps, work)
			if errcode.Is(err, errcode.Conflict) {
				return err
			}
			continue
		}
		p.putBack(work)
		select {
		case <-ctx.Done():
		case <-p.wake:
		case <-p.clock.After(start.Sub(p.clock.Now())):
		}
	}
	return nil
}

func (p *Pacer) pass(ctx context.Context, steps Steps, work pending) error {
	p.lastStart = p.clock.Now()
	wait, err := steps.Pass(ctx)
	p.nextPoll = p.clock.Now().Add(wait)
	for _, w := range work.waiters {
		w <- err
	}
	return err
}

// Started moves the last start to now: a pass that had to wait for its right
// to begin says when upstream really saw it.
func (p *Pacer) Started() { p.lastStart = p.clock.Now() }

// take removes what is pending, so that requests during a pass are for the
// next one.
func (p *Pacer) take() pending {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.pending
	p.pending = pending{}
	return taken
}

func (p *Pacer) putBack(work pending) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending.kick = p.pending.kick || work.kick
	p.pending.again = p.pending.again || work.again
	p.pending.sources = p.pending.sources || work.sources
	p.pending.waiters = append(work.waiters, p.pending.waiters...)
}

// peek says when the next pass may begin, and whether that is now, without
// taking a token.
func (p *Pacer) peek(work pending) (time.Time, bool) {
	now := p.clock.Now()
	earliest := p.lastStart.Add(p.gap)
	at := p.nextPoll
	if work.again {
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

// startAt is peek that takes the token when a kick begins the pass.
func (p *Pacer) startAt(work pending) (time.Time, bool) {
	at, ok := p.peek(work)
	if ok && work.kick && !work.again && p.nextPoll.After(p.clock.Now()) {
		p.bucket.AllowN(p.clock.Now(), 1)
	}
	return at, ok
}

// end tells everybody who waits that nobody runs any more.
func (p *Pacer) end() {
	p.mu.Lock()
	waiters := p.pending.waiters
	p.pending, p.ended = pending{}, true
	p.mu.Unlock()
	for _, w := range waiters {
		w <- errStopped
	}
}
