package lifecycle_test

import (
	"context"
	"errors"
	"testing"

	"github.com/axle-cd/axle/internal/lifecycle"
)

func TestOneFailureStopsAll(t *testing.T) {
	broken := errors.New("broken")
	stopped := false
	err := lifecycle.Run(context.Background(),
		lifecycle.Part{Name: "waiter", Run: func(ctx context.Context) error { <-ctx.Done(); stopped = true; return ctx.Err() }},
		lifecycle.Part{Name: "idle", Run: func(context.Context) error { return nil }},
		lifecycle.Part{Name: "failer", Run: func(context.Context) error { return broken }},
	)
	if !errors.Is(err, broken) || err.Error() != "failer: broken" || !stopped {
		t.Errorf("err = %v, stopped = %v", err, stopped)
	}
}

func TestEndOfContextIsNoFailure(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := lifecycle.Run(ctx, lifecycle.Part{Name: "p", Run: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}); err != nil {
		t.Errorf("err = %v", err)
	}
}
