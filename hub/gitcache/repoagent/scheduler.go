package repoagent

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

// schedule is the configuration of a Scheduler. All fields are required.
type schedule struct {
	Clock clock.Clock
	// Gap is the minimum time between the starts of two passes.
	Gap time.Duration
	// Poll is the time between passes while upstream is healthy, and Spread the
	// most that is added to it at random.
	Poll, Spread time.Duration
}

// Scheduler decides when a repository's upstream is asked: at polls, and soon after
// a kick, but never twice within the gap, and less often while upstream fails. It
// runs one pass after another. Requests may come from any goroutine.
//
//	waiting --(poll due, kick with a token)--> pass --> waiting
type Scheduler struct {
	config  schedule
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

// steps are the agent's functions that Run calls.
type steps struct {
	// Pass asks upstream; urgent is set when it was kicked. An error with code
	// Conflict ends Run: another replica has the lease.
	Pass func(ctx context.Context, urgent bool) error
	// SourcesChanged evaluates sources without asking upstream.
	SourcesChanged func(ctx context.Context)
	// Reconfigured reports whether the repository's row differs from the one
	// last used. A changed one is tried soon, as after a kick.
	Reconfigured func(ctx context.Context) bool
}

// newScheduler returns a scheduler that polls immediately.
func newScheduler(c schedule) *Scheduler {
	return &Scheduler{config: c, wake: make(chan struct{}, 1), nextPoll: c.Clock.Now(), last: errNoPass,
		bucket: rate.NewLimiter(rate.Every(gapsPerKick*c.Gap), Burst)}
}

// Kick requests a pass soon. It returns at once; several kicks are merged into
// one.
func (s *Scheduler) Kick() { s.request(func(q *pending) { q.kick = true }) }

// Again requests a pass as soon as the gap allows, without a token. While
// upstream fails it waits for the next poll.
func (s *Scheduler) Again() { s.request(func(q *pending) { q.again = true }) }

// SourcesChanged tells the scheduler that the set of sources in use may have
// changed.
func (s *Scheduler) SourcesChanged() { s.request(func(q *pending) { q.sources = true }) }

// LookAt requests an evaluation of the sources at that time or before.
func (s *Scheduler) LookAt(t time.Time) {
	s.mu.Lock()
	if s.lookAt.IsZero() || t.Before(s.lookAt) {
		s.lookAt = t
	}
	s.mu.Unlock()
	s.request(func(*pending) {})
}

func (s *Scheduler) request(change func(*pending)) {
	s.mu.Lock()
	change(&s.pending)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

var (
	errStopped = errcode.New(errcode.Unavailable, "this replica stopped following the repository; try again")
	errNoPass  = errcode.New(errcode.Unavailable, "the repository was not read yet; try again in a moment")
)

// KickAndWait requests a pass and returns the error of one that began after the
// call.
func (s *Scheduler) KickAndWait(ctx context.Context) error {
	done := make(chan error, 1)
	s.request(func(q *pending) {
		if s.ended {
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
func (s *Scheduler) Failing() bool { return s.failing.Load() }

// Last returns the error of the last pass, or an error that there was none yet.
func (s *Scheduler) Last() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// run makes passes until ctx ends or a pass reports that the lease is lost.
func (s *Scheduler) run(ctx context.Context, does steps) error {
	defer s.end()
	for ctx.Err() == nil {
		work := s.take()
		s.prepare(ctx, does, &work)
		start, ok := s.startAt(work)
		if ok {
			err := s.pass(ctx, does, work)
			if errcode.Is(err, errcode.Conflict) {
				return err
			}
			continue
		}
		s.putBack(work)
		if look := s.looksAt(); !look.IsZero() && look.Before(start) {
			start = look
		}
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-s.config.Clock.After(start.Sub(s.config.Clock.Now())):
		}
	}
	return nil
}

// prepare does the work that needs no pass.
func (s *Scheduler) prepare(ctx context.Context, does steps, work *pending) {
	resting := s.notBefore.After(s.config.Clock.Now())
	if (work.sources || resting && len(work.waiters) > 0) && does.Reconfigured(ctx) {
		work.kick, s.notBefore, resting = true, time.Time{}, false
	}
	if resting {
		// Upstream's rate limit applies; what they kicked for runs afterwards.
		for _, w := range work.waiters {
			w <- s.Last()
		}
		work.waiters = nil
	}
	if !work.sources {
		return
	}
	if _, due := s.peek(*work); !due {
		does.SourcesChanged(ctx)
		work.sources = false
	}
}

func (s *Scheduler) pass(ctx context.Context, does steps, work pending) error {
	s.lastStart = s.config.Clock.Now()
	s.planned, s.urgent = false, work.kick
	err := does.Pass(ctx, work.kick)
	if !s.planned {
		s.plan(err)
	}
	s.mu.Lock()
	s.last = err
	s.mu.Unlock()
	for _, w := range work.waiters {
		w <- err
	}
	return err
}

// started moves the last start to now. A pass that had to wait before it could
// begin calls it when it contacts upstream.
func (s *Scheduler) started() { s.lastStart = s.config.Clock.Now() }

// Due reports whether a caller waits for a pass that may begin now. A running
// pass uses it to keep itself short.
func (s *Scheduler) Due() bool {
	s.mu.Lock()
	work := s.pending
	s.mu.Unlock()
	if !work.kick && !work.again {
		return false
	}
	_, due := s.peek(work)
	return due
}

// take removes what is pending, so that requests during a pass count for the
// next one.
func (s *Scheduler) take() pending {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.pending
	s.pending = pending{}
	if !s.lookAt.IsZero() && !s.lookAt.After(s.config.Clock.Now()) {
		s.lookAt, taken.sources = time.Time{}, true
	}
	return taken
}

func (s *Scheduler) looksAt() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lookAt
}

func (s *Scheduler) putBack(work pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending.kick = s.pending.kick || work.kick
	s.pending.again = s.pending.again || work.again
	s.pending.sources = s.pending.sources || work.sources
	s.pending.waiters = append(work.waiters, s.pending.waiters...)
}

// peek returns when the next pass may begin, and whether that is now, without
// spending a token.
func (s *Scheduler) peek(work pending) (time.Time, bool) {
	now := s.config.Clock.Now()
	earliest := s.lastStart.Add(s.config.Gap)
	if s.notBefore.After(earliest) {
		earliest = s.notBefore
	}
	at := s.nextPoll
	if work.again && s.failures == 0 {
		at = now
	}
	if work.kick {
		r := s.bucket.ReserveN(now, 1)
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
func (s *Scheduler) startAt(work pending) (time.Time, bool) {
	at, ok := s.peek(work)
	now := s.config.Clock.Now()
	if ok && work.kick && !(work.again && s.failures == 0) && s.nextPoll.After(now) {
		s.bucket.AllowN(now, 1)
	}
	return at, ok
}

// end tells all waiters that Run has ended.
func (s *Scheduler) end() {
	s.mu.Lock()
	waiters := s.pending.waiters
	s.pending, s.ended = pending{}, true
	s.mu.Unlock()
	for _, w := range waiters {
		w <- errStopped
	}
}
