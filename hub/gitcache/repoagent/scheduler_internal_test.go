package repoagent

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

const gap = 5 * time.Second

var away = errcode.New(errcode.Unavailable, "away")

func only(pass func(context.Context, bool) error) steps {
	return steps{Pass: pass, SourcesChanged: func(context.Context) {}, Reconfigured: func(context.Context) bool { return false }}
}

// TestPlan checks the times between polls, and that only success makes them
// shorter again.
func TestPlan(t *testing.T) {
	now := clock.NewManual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	p := newScheduler(schedule{Clock: now, Gap: gap, Poll: 2 * time.Minute, Spread: time.Minute})
	wants := func(err error, from, to time.Duration) {
		t.Helper()
		if d := p.plan(err).Sub(now.Now()); d < from || d > to {
			t.Errorf("after %v the next poll comes in %v, want %v to %v", err, d, from, to)
		}
		now.Advance(p.nextPoll.Sub(now.Now()))
	}
	for _, first := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute} {
		wants(away, first, first*3/2) // never read
	}
	wants(nil, 2*time.Minute, 3*time.Minute)
	for _, first := range []time.Duration{2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute} {
		wants(away, first, first*3/2)
	}
	wants(nil, 2*time.Minute, 3*time.Minute)
	wants(errcode.New(errcode.Unavailable, "busy").After(10*time.Minute), 10*time.Minute, 10*time.Minute)

	// Who was kicked for and failed again leaves the poll where it was.
	wants(nil, 2*time.Minute, 3*time.Minute)
	wants(away, 2*time.Minute, 3*time.Minute)
	poll := p.plan(away)
	p.urgent = true
	for range 5 {
		now.Advance(time.Second)
		if p.plan(away) != poll || p.failures != 2 {
			t.Errorf("a kick moved the poll from %v to %v, after %d failures", poll, p.nextPoll, p.failures)
		}
	}
	if _, ok := p.peek(pending{again: true}); ok {
		t.Error("the agent's own reasons begin a pass while upstream fails")
	}
	if _, ok := p.peek(pending{kick: true}); !ok {
		t.Error("a kick does not begin a pass while upstream fails")
	}
}

// TestALaterLifeGoesOnWaiting checks that a restart does not contact a failing
// upstream sooner.
func TestALaterLifeGoesOnWaiting(t *testing.T) {
	now := clock.NewManual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	p := newScheduler(schedule{Clock: now, Gap: gap, Poll: 2 * time.Minute, Spread: time.Minute})
	p.resume(away, now.Now().Add(-20*time.Minute), now.Now().Add(7*time.Minute), true)
	if at, _ := p.peek(pending{again: true}); !p.Failing() || p.Last() != away || at.Sub(now.Now()) != 7*time.Minute {
		t.Errorf("asked in %v, failing %v, last %v", at.Sub(now.Now()), p.Failing(), p.Last())
	}
	now.Advance(7 * time.Minute)
	if d := p.plan(away).Sub(now.Now()); d < 10*time.Minute {
		t.Errorf("it was tried for 27 minutes and is tried again in %v", d)
	}
	p = newScheduler(schedule{Clock: now, Gap: gap, Poll: 2 * time.Minute, Spread: time.Minute})
	p.resume(away, now.Now(), now.Now().Add(100*time.Hour), true)
	if at, _ := p.peek(pending{}); at.Sub(now.Now()) > 15*time.Minute {
		t.Errorf("a clock that was wrong keeps it waiting for %v", at.Sub(now.Now()))
	}
	p.resume(away, now.Now(), now.Now().Add(-time.Second), true)
	if _, ok := newScheduler(schedule{Clock: now, Gap: gap, Poll: time.Minute, Spread: 1}).peek(pending{}); !ok {
		t.Error("what is due waits")
	}
}

// TestKicksArePaced checks the token bucket: kicks run a gap apart while there
// are tokens, four and one more every three gaps, then every three gaps, and
// none is lost.
func TestKicksArePaced(t *testing.T) {
	now := clock.NewManual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	p := newScheduler(schedule{Clock: now, Gap: gap, Poll: 2 * time.Minute, Spread: time.Minute})
	p.nextPoll = now.Now().Add(time.Hour)
	began := now.Now()
	p.lastStart = began.Add(-time.Hour)
	var starts []int
	for len(starts) < 7 {
		p.Kick()
		p.Kick()
		work := p.take()
		at, ok := p.startAt(work)
		if !ok {
			p.putBack(work)
			now.Advance(at.Sub(now.Now()))
			continue
		}
		starts = append(starts, int(now.Now().Sub(began).Round(time.Second).Seconds()))
		p.lastStart = now.Now()
	}
	if diff := cmp.Diff([]int{0, 5, 10, 15, 20, 30, 45}, starts); diff != "" {
		t.Errorf("starts in seconds (-want +got):\n%s", diff)
	}
}

func TestPollsNeedNoToken(t *testing.T) {
	now := clock.NewManual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	p := newScheduler(schedule{Clock: now, Gap: gap, Poll: 2 * time.Minute, Spread: time.Minute})
	for range 20 {
		p.nextPoll = now.Now()
		if _, ok := p.startAt(pending{}); !ok {
			t.Fatal("a poll that is due did not start")
		}
		p.lastStart = now.Now()
		if _, ok := p.startAt(pending{again: true}); ok {
			t.Fatal("two starts at once")
		}
		now.Advance(gap)
	}
}

// TestWaitersHearOfALaterPass checks that a pass which had begun before the
// call does not answer it.
func TestWaitersHearOfALaterPass(t *testing.T) {
	t.Parallel()
	p := newScheduler(schedule{Clock: clock.Real{}, Gap: time.Millisecond, Poll: time.Hour, Spread: time.Minute})
	entered, leave := make(chan int), make(chan error)
	passes := 0
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- p.run(ctx, only(func(context.Context, bool) error {
			passes++
			entered <- passes
			return <-leave
		}))
	}()
	<-entered
	waited := make(chan error, 1)
	go func() { waited <- p.KickAndWait(t.Context()) }()
	eventually.For(t, time.Minute, "the caller to wait", func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.pending.waiters) != 1 {
			return errors.New("nobody waits")
		}
		return nil
	})
	leave <- nil
	if n := <-entered; n != 2 {
		t.Fatalf("pass %d", n)
	}
	select {
	case err := <-waited:
		t.Fatalf("the first pass answered: %v", err)
	default:
	}
	want := errcode.New(errcode.Unavailable, "away")
	leave <- want
	if err := <-waited; err != want {
		t.Errorf("waiter heard %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := p.KickAndWait(t.Context()); !errcode.Is(err, errcode.Unavailable) {
		t.Errorf("after the end: %v", err)
	}
}

func TestALostLeaseEndsTheRun(t *testing.T) {
	p := newScheduler(schedule{Clock: clock.Real{}, Gap: time.Millisecond, Poll: time.Hour, Spread: time.Minute})
	err := p.run(t.Context(), only(func(context.Context, bool) error { return errcode.New(errcode.Conflict, "another's") }))
	if !errcode.Is(err, errcode.Conflict) {
		t.Errorf("run ended with %v", err)
	}
}
