package eventually_test

import (
	"context"
	"errors"
	"testing"
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
