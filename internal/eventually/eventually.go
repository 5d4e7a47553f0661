// Package eventually lets a test wait for a condition instead of sleeping. It
// is the one place where waiting by the wall clock is allowed, always with a
// deadline, and only tests and the test bed call it.
package eventually

import (
	"context"
	"fmt"
	"time"
)

// interval is how often a condition is checked: short compared with what tests wait
// for, and long enough not to load a machine with two cores.
const interval = 20 * time.Millisecond

// Testing is the part of *testing.T that For needs.
type Testing interface {
	Helper()
	Fatalf(format string, args ...any)
	Context() context.Context
}

// For waits until condition returns nil. After the limit it fails the test with the
// last error.
func For(t Testing, limit time.Duration, what string, condition func() error) {
	t.Helper()
	if err := Wait(t.Context(), limit, condition); err != nil {
		t.Fatalf("%s: not within %v: %v", what, limit, err)
	}
}

// Wait calls condition until it returns nil, the limit has passed or the context has
// ended. In the latter cases it returns the condition's last error.
func Wait(ctx context.Context, limit time.Duration, condition func() error) error {
	return WaitEvery(ctx, limit, interval, condition)
}

// WaitEvery is Wait for a condition whose cost would affect the measurement: it is
// called once per every.
func WaitEvery(ctx context.Context, limit, every time.Duration, condition func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		err := condition()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", err, ctx.Err())
		case <-ticker.C:
		}
	}
}
