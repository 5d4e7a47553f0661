// Package lifecycle runs the long-lived parts of a program together. Each part has an
// owner and an end. When one fails, or the context ends, all are told to stop; Run
// returns after the last one stopped.
//
//	start --> running --(context ends or a part returns an error)--> stopping --> ended
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/clock"
)

// Part runs until its context ends. A nil error before that means that it has no more
// work; other parts continue.
type Part struct {
	// Name is used in the error when the part fails.
	Name string
	// Run blocks until the context ends or the part fails.
	Run func(ctx context.Context) error
}

// Run starts all parts and waits for all of them. It returns the first failure
// with the part's name, nil when the context simply ended.
func Run(ctx context.Context, parts ...Part) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var (
		wg    sync.WaitGroup
		first error
		once  sync.Once
	)
	for _, part := range parts {
		wg.Go(func() {
			err := part.Run(ctx)
			if err == nil || (ctx.Err() != nil && errors.Is(err, context.Canceled)) {
				return
			}
			once.Do(func() {
				first = fmt.Errorf("%s: %w", part.Name, err)
				stop(first)
			})
		})
	}
	wg.Wait()
	return first
}

// longest bounds the delay of Lasting: what waits for a program to come back must not
// give it up meanwhile.
const longest = time.Minute

// Lasting returns a context that ends the delay, at most a minute, after ctx does. told
// is called when ctx ends. Call the function to let go of both.
func Lasting(ctx context.Context, c clock.Clock, delay time.Duration, told func()) (context.Context, context.CancelFunc) {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	forget := context.AfterFunc(ctx, func() {
		defer stop()
		told()
		if delay <= 0 {
			return
		}
		select {
		case <-c.After(min(delay, longest)):
		case <-running.Done():
		}
	})
	return running, func() {
		forget()
		stop()
	}
}
