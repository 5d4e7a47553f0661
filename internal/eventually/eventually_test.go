package eventually_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
)

func TestWaitReturnsTheLastError(t *testing.T) {
	last := errors.New("still away")
	err := eventually.Wait(context.Background(), 50*time.Millisecond, func() error { return last })
	if !errors.Is(err, last) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v", err)
	}
}

func TestForEndsWithTheCondition(t *testing.T) {
	calls := 0
	eventually.For(t, time.Minute, "third call", func() error {
		if calls++; calls < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if calls != 3 {
		t.Errorf("asked %d times", calls)
	}
}

// TestSlowChecksLeaveTheProcessorAlone: of the time, a fifth goes to a check that takes
// 100 ms; after one that takes long the pause is a second.
func TestSlowChecksLeaveTheProcessorAlone(t *testing.T) {
	for took, want := range map[time.Duration]int{time.Millisecond: 489, 100 * time.Millisecond: 21, 4 * time.Second: 3} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			_ = eventually.Wait(t.Context(), 10_250*time.Millisecond, func() error {
				calls++
				<-time.After(took) // of the bubble's clock
				return errors.New("not yet")
			})
			if calls != want {
				t.Errorf("a check that takes %v was made %d times in 10 s, not %d", took, calls, want)
			}
		})
	}
}
