package difference

import (
	"context"
	"sync"
)

// Together runs work with limited concurrency and returns the results in order; the
// first error ends all of it.
func Together(ctx context.Context, most int, work []func(context.Context) (Object, error)) ([]Object, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := make([]Object, len(work))
	var wg sync.WaitGroup
	var mu sync.Mutex
	next := 0
	for range min(most, len(work)) {
		wg.Go(func() {
			for {
				mu.Lock()
				n := next
				next++
				mu.Unlock()
				if n >= len(work) || ctx.Err() != nil {
					return
				}
				var err error
				if out[n], err = work[n](ctx); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return out, nil
}
