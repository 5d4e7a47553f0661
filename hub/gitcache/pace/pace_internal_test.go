package pace

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

// TestKicksArePaced holds the bucket: kicks run a gap apart while there are
// tokens, four and one more every three gaps, then every three gaps, and none
// is lost.
func TestKicksArePaced(t *testing.T) {
	now := clock.NewManual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	p := New(now, gap)
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
	p := New(now, gap)
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

// TestWaitersHearOfALaterPass holds that a pass which had begun before the
// call does not answer it.
func TestWaitersHearOfALaterPass(t *testing.T) {
	t.Parallel()
	p := New(clock.Real{}, time.Millisecond)
	entered, leave := make(chan int), make(chan error)
	passes := 0
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- p.Run(ctx, Steps{SourcesChanged: func(context.Context) {}, Pass: func(context.Context) (time.Duration, error) {
			passes++
			entered <- passes
			return time.Hour, <-leave
		}})
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
	p := New(clock.Real{}, time.Millisecond)
	err := p.Run(t.Context(), Steps{Pass: func(context.Context) (time.Duration, error) {
		return 0, errcode.New(errcode.Conflict, "another's")
	}})
	if !errcode.Is(err, errcode.Conflict) {
		t.Errorf("run ended with %v", err)
	}
}
