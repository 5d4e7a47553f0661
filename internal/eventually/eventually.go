// Package eventually lets a test wait for a condition instead of sleeping. It
// is the one place where waiting by the wall clock is allowed, always with a
// deadline, and only tests and the test bed call it.
package eventually

import (
	"context"
	"fmt"
	"time"
)

const (
	// interval is the shortest pause between two checks: short compared with what tests
	// wait for.
	interval = 20 * time.Millisecond
	// share is how many times as long as a check the pause after it is, at most longest.
	// Many checks run a program; one after the other they would keep a processor busy
	// that the awaited thing needs.
	share   = 4
	longest = time.Second
	// slowest is how many times as long as on a machine with two free processors a test
	// may wait before For fails it: a limit catches what never comes, and is no
	// measurement. Shared machines were seen to be three times slower.
	slowest = 4
)

// Testing is the part of *testing.T that For needs.
type Testing interface {
	Helper()
	Fatalf(format string, args ...any)
	Context() context.Context
}

// For waits until condition returns nil. The limit is what a machine with free
// processors needs at most; after four times that it fails the test with the last error.
func For(t Testing, limit time.Duration, what string, condition func() error) {
	t.Helper()
	limit *= slowest
	if err := Wait(t.Context(), limit, condition); err != nil {
		t.Fatalf("%s: not within %v: %v", what, limit, err)
	}
}

// Loaded returns how long a promise may take where tests run: what stands in a limit of time that
// a product gives is for a machine with free processors.
func Loaded(promise time.Duration) time.Duration { return slowest * promise }

// Wait calls condition until it returns nil, the limit has passed or the context has
// ended. In the latter cases it returns the condition's last error. A check that takes
// long is made less often.
func Wait(ctx context.Context, limit time.Duration, condition func() error) error {
	return wait(ctx, limit, func(took time.Duration) time.Duration { return min(max(interval, share*took), longest) }, condition)
}

// WaitEvery is Wait for a condition whose cost would affect the measurement: it is
// called once per every.
func WaitEvery(ctx context.Context, limit, every time.Duration, condition func() error) error {
	return wait(ctx, limit, func(took time.Duration) time.Duration { return every - took }, condition)
}

func wait(ctx context.Context, limit time.Duration, pause func(took time.Duration) time.Duration, condition func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		began := time.Now()
		err := condition()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", err, ctx.Err())
		case <-time.After(pause(time.Since(began))):
		}
	}
}

// During calls look again and again, in the caller's goroutine, while work runs in another
// one, and once more when it has ended: what others see of files that are being written.
func During(work, look func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		work()
	}()
	for running := true; running; {
		select {
		case <-ended:
			running = false
		default:
		}
		look()
	}
}
