package gitagent

import (
	"context"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
)

// due reports whether a pass begins now anyway.
func (a *Agent) due(p *pending) bool {
	_, ok := a.peek(*p)
	return ok
}

// peek says when the next pass may begin, and whether that is now, without
// taking a token.
func (a *Agent) peek(p pending) (time.Time, bool) {
	now := a.config.Clock.Now()
	earliest := a.lastStart.Add(a.config.Gap)
	if a.notBefore.After(earliest) {
		earliest = a.notBefore
	}
	at := a.nextPoll
	if p.again {
		at = now
	}
	if p.kick {
		r := a.bucket.ReserveN(now, 1)
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
func (a *Agent) startAt(p pending) (time.Time, bool) {
	at, ok := a.peek(p)
	if ok && p.kick && !p.again && a.nextPoll.After(a.config.Clock.Now()) {
		a.bucket.AllowN(a.config.Clock.Now(), 1)
	}
	return at, ok
}

// plan sets the next poll by how the last pass went.
func (a *Agent) plan(err error) {
	now := a.config.Clock.Now()
	wait := jitter.Add(a.config.PollInterval, a.config.PollInterval/2)
	if err == nil {
		a.failures = 0
	} else {
		a.failures++
		if m, _, _ := a.copy(); m == nil || m != nil && a.fetchSeq == 0 {
			retry := min(maxRetry, cloneRetry<<min(a.failures-1, 6), a.config.PollInterval*4)
			wait = min(wait, jitter.Add(retry, retry/2))
		}
		rest := errcode.RetryAfter(err)
		wait, a.notBefore = max(wait, rest), now.Add(rest)
	}
	a.nextPoll = now.Add(wait)
}

// excuse tells those who wait that upstream asked to be left alone; what they
// kicked for runs afterwards. A changed repository row is tried at once.
func (a *Agent) excuse(ctx context.Context, work *pending) {
	if rest := a.notBefore.Sub(a.config.Clock.Now()); rest <= 0 || !work.sources && len(work.waiters) == 0 {
		return
	}
	if r, err := a.config.Store.Repository(ctx, a.config.RepositoryID); err == nil && r.Generation != a.generation {
		a.notBefore = time.Time{}
		return
	}
	a.mu.Lock()
	last := a.last
	a.mu.Unlock()
	for _, w := range work.waiters {
		w <- last
	}
	work.waiters = nil
}
