package gitagent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// TestKicksArePaced holds the bucket: kicks run 5 s apart while there are
// tokens, four and one more every 15 s, then every 15 s, and none is lost.
func TestKicksArePaced(t *testing.T) {
	now := clock.NewManual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	a := New(Config{Clock: now})
	a.nextPoll = now.Now().Add(time.Hour)
	began := now.Now()
	a.lastStart = began.Add(-time.Hour)
	var starts []int
	for len(starts) < 7 {
		a.Kick()
		a.Kick()
		work := a.take()
		at, ok := a.startAt(work)
		if !ok {
			a.putBack(work)
			now.Advance(at.Sub(now.Now()))
			continue
		}
		starts = append(starts, int(now.Now().Sub(began).Round(time.Second).Seconds()))
		a.lastStart = now.Now()
	}
	if diff := cmp.Diff([]int{0, 5, 10, 15, 20, 30, 45}, starts); diff != "" {
		t.Errorf("starts in seconds (-want +got):\n%s", diff)
	}
}

func TestPollsNeedNoToken(t *testing.T) {
	now := clock.NewManual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	a := New(Config{Clock: now})
	for range 20 {
		a.nextPoll = now.Now()
		if _, ok := a.startAt(pending{}); !ok {
			t.Fatal("a poll that is due did not start")
		}
		a.lastStart = now.Now()
		if _, ok := a.startAt(pending{again: true}); ok {
			t.Fatal("two starts at once")
		}
		now.Advance(record.FetchGap)
	}
}

func TestPlan(t *testing.T) {
	now := clock.NewManual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	within := func(a *Agent, err error, from, to time.Duration) {
		t.Helper()
		for range 50 {
			failures := a.failures
			a.plan(err)
			if d := a.nextPoll.Sub(now.Now()); d < from || d >= to {
				t.Errorf("after %v the next poll comes in %v, want [%v, %v)", err, d, from, to)
			}
			if err != nil {
				a.failures = failures
			}
		}
	}
	away := errcode.New(errcode.Unavailable, "away")
	a := New(Config{Clock: now})
	within(a, nil, 2*time.Minute, 3*time.Minute)
	within(a, away, 30*time.Second, 45*time.Second) // never read: soon again
	a.failures = 1
	within(a, away, time.Minute, 90*time.Second)
	a.failures = 50
	within(a, away, 2*time.Minute, 3*time.Minute)
	within(a, errcode.New(errcode.Unavailable, "busy").After(10*time.Minute), 10*time.Minute, 10*time.Minute+time.Second)
}
