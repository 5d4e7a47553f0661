package repoagent

import (
	"errors"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
)

const (
	// firstRetry is the wait after a failure of a repository that was never
	// read; it doubles. A repository that was read before begins with the time
	// between polls.
	firstRetry = 30 * time.Second
	// maxRetry limits the wait, unless polls are further apart anyway. Up to
	// half of it is added at random.
	maxRetry = 10 * time.Minute
	// maxDoubled keeps a doubled time from overflowing.
	maxDoubled = 20
)

// backoff returns the wait after a number of failures in a row.
func backoff(first, longest time.Duration, failures int) time.Duration {
	d := min(longest, first<<min(max(0, failures-1), maxDoubled))
	return jitter.Add(d, d/2)
}

// plan sets the next poll by the result of a pass and returns it. A pass calls
// it as soon as it knows; otherwise Run does.
func (s *Scheduler) plan(err error) time.Time {
	s.planned = true
	now := s.config.Clock.Now()
	rest := errcode.RetryAfter(err)
	switch {
	case err == nil:
		s.failures, s.read, s.notBefore = 0, true, time.Time{}
		s.nextPoll = now.Add(jitter.Add(s.config.Poll, s.config.Spread))
	case errors.Is(err, ErrClosed):
		// The host fails for others. A caller that requested a fetch gets one
		// by the gate's tokens.
		s.failures = max(1, s.failures)
		s.nextPoll = now.Add(rest + jitter.Full(s.config.Spread))
	case s.urgent && s.failures > 0 && s.nextPoll.After(now):
		s.notBefore = now.Add(rest)
	default:
		s.failures++
		s.notBefore = now.Add(rest)
		s.nextPoll = now.Add(max(rest, s.retry()))
	}
	if s.nextPoll.Before(s.notBefore) {
		s.nextPoll = s.notBefore
	}
	s.failing.Store(s.failures > 0)
	return s.nextPoll
}

// postpone retries soon a pass that could not begin for reasons other than
// upstream.
func (s *Scheduler) postpone() {
	s.planned = true
	now := s.config.Clock.Now()
	s.lastStart, s.nextPoll = now, now.Add(jitter.Add(s.config.Gap, 2*s.config.Gap))
}

// retry returns the wait after the current number of failures.
func (s *Scheduler) retry() time.Duration {
	first := s.config.Poll
	if !s.read {
		first = min(first, firstRetry)
	}
	return backoff(first, max(maxRetry, s.config.Poll), s.failures)
}

// resume restores the state of an earlier run, before Run: since when upstream
// has failed and with which error, when it is due next, and whether it was ever
// read. Without Resume, sources are evaluated at once.
func (s *Scheduler) resume(err error, since, next time.Time, read bool) {
	s.read = read
	now := s.config.Clock.Now()
	if err == nil || !next.After(now) {
		return
	}
	longest := max(maxRetry, s.config.Poll)
	first := s.config.Poll
	if !read {
		first = min(first, firstRetry)
	}
	s.failures = 1
	for spent := first; spent < now.Sub(since) && s.failures < maxDoubled; s.failures++ {
		spent += min(longest, first<<s.failures)
	}
	// A clock that was set back must not stop the following of a repository.
	s.nextPoll = now.Add(min(next.Sub(now), longest*3/2))
	s.mu.Lock() // others may request something already
	s.last, s.pending.sources = err, true
	s.mu.Unlock()
	s.failing.Store(true)
}

// Retries remembers what could not be fetched, so that it is not requested at
// every pass. Its key changes with the request. Create it with NewRetries.
type Retries struct {
	clock clock.Clock

	mu    sync.Mutex
	tries map[string]try
}

type try struct {
	err      error
	failures int
	until    time.Time
	lifted   bool // once
}

// maxTries limits how many failures are remembered.
const maxTries = 1_000

// NewRetries returns an empty Retries.
func NewRetries(c clock.Clock) *Retries { return &Retries{clock: c, tries: map[string]try{}} }

// Blocked returns why something could not be fetched, until it may be requested
// again.
func (r *Retries) Blocked(key string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.tries[key]
	if !ok || t.lifted || !t.until.After(r.clock.Now()) {
		return nil
	}
	return t.err
}

// Done records a result, and returns when the request may be repeated; zero
// when it succeeded.
func (r *Retries) Done(key string, err error) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		delete(r.tries, key)
		return time.Time{}
	}
	now := r.clock.Now()
	for old, t := range r.tries {
		if len(r.tries) < maxTries {
			break
		}
		if old != key && !t.until.After(now.Add(maxRetry)) {
			delete(r.tries, old)
		}
	}
	t := r.tries[key]
	t.err = err
	if t.lifted && t.until.After(now) {
		t.lifted = false
		r.tries[key] = t
		return t.until
	}
	t.failures, t.lifted = t.failures+1, false
	t.until = now.Add(max(errcode.RetryAfter(err), backoff(firstRetry, maxRetry, t.failures)))
	r.tries[key] = t
	return t.until
}

// Waiting reports whether a failed request may be repeated now.
func (r *Retries) Waiting() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	for _, t := range r.tries {
		if !t.until.After(now) {
			return true
		}
	}
	return false
}

// Lift allows one early retry of everything, for a caller that requested a
// fetch. The scheduled times stay.
func (r *Retries) Lift() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, t := range r.tries {
		t.lifted = true
		r.tries[key] = t
	}
}
