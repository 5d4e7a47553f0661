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
	// firstRetry is the wait after a failure of what was never read; it
	// doubles. What was read once begins with the time between polls.
	firstRetry = 30 * time.Second
	// maxRetry bounds the wait, if polls are not further apart anyway. Half of
	// it at most is added at random.
	maxRetry = 10 * time.Minute
	// maxDoubled keeps a doubled time from overflowing.
	maxDoubled = 20
)

// backoff is the wait after so many failures in a row.
func backoff(first, longest time.Duration, failures int) time.Duration {
	d := min(longest, first<<min(max(0, failures-1), maxDoubled))
	return jitter.Add(d, d/2)
}

// plan sets the next poll by how a pass went and returns it. A pass calls it
// when it knows, else Run does.
func (s *Scheduler) plan(err error) time.Time {
	s.planned = true
	now := s.config.Clock.Now()
	rest := errcode.RetryAfter(err)
	switch {
	case err == nil:
		s.failures, s.read, s.notBefore = 0, true, time.Time{}
		s.nextPoll = now.Add(jitter.Add(s.config.Poll, s.config.Spread))
	case errors.Is(err, ErrClosed):
		// The host fails for others; who asked for a look gets one by the
		// gate's tokens.
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

// postpone tries a pass again soon that could not begin, for reasons that are
// not upstream's.
func (s *Scheduler) postpone() {
	s.planned = true
	now := s.config.Clock.Now()
	s.lastStart, s.nextPoll = now, now.Add(jitter.Add(s.config.Gap, 2*s.config.Gap))
}

// retry is the wait after the present number of failures.
func (s *Scheduler) retry() time.Duration {
	first := s.config.Poll
	if !s.read {
		first = min(first, firstRetry)
	}
	return backoff(first, max(maxRetry, s.config.Poll), s.failures)
}

// resume takes up where an earlier life stood, before Run: upstream failed
// with an error since some time, was read before or never was, and is asked
// next at a time that was said. Sources are looked at once without it.
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
	// A clock that was set back must not end the following of a repository.
	s.nextPoll = now.Add(min(next.Sub(now), longest*3/2))
	s.last, s.pending.sources = err, true
	s.failing.Store(true)
}

// Retries remembers what could not be had, by a key that changes with what is
// asked for, so that it is not asked for at every look. The zero value is not
// useful.
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

// maxTries bounds what is remembered.
const maxTries = 1_000

// NewRetries returns one that remembers nothing.
func NewRetries(c clock.Clock) *Retries { return &Retries{clock: c, tries: map[string]try{}} }

// Blocked returns why something could not be had, until it may be asked for
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

// Done takes note of how it went, and returns when it may be asked for again;
// zero when it was had.
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

// Waiting reports whether something failed that may be asked for again.
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

// Lift lets everything be asked for once before its time, for somebody who
// asks for a look. Its time stays.
func (r *Retries) Lift() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, t := range r.tries {
		t.lifted = true
		r.tries[key] = t
	}
}
