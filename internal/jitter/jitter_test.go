package jitter_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/jitter"
)

func TestBackoffDoublesUpToMax(t *testing.T) {
	b := jitter.Backoff{Min: time.Second, Max: 10 * time.Second}
	bounds := []time.Duration{1, 2, 4, 8, 10, 10, 10}
	for i, bound := range bounds {
		if d := b.Next(); d < 0 || d >= bound*time.Second {
			t.Errorf("retry %d waits %v, want under %v", i, d, bound*time.Second)
		}
	}
	b.Reset()
	if d := b.Next(); d >= time.Second {
		t.Errorf("after Reset the first wait is %v", d)
	}
}

func TestBackoffNeverOverflows(t *testing.T) {
	b := jitter.Backoff{Min: time.Hour, Max: 2 * time.Hour}
	for range 200 {
		if d := b.Next(); d < 0 || d >= 2*time.Hour {
			t.Fatalf("wait %v is out of bounds", d)
		}
	}
}

func TestSpreadIsStableAndInRange(t *testing.T) {
	a, b := jitter.Spread("svc-1", time.Hour), jitter.Spread("svc-1", time.Hour)
	if a != b || a < 0 || a >= time.Hour {
		t.Errorf("spread %v, %v", a, b)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := jitter.Wait(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}
