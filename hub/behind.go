package hub

import (
	"context"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
)

const (
	// behindEvery is how often a replica checks whether it alone is behind.
	behindEvery = 2 * time.Second
	// behindAfter is the age of its view at which a replica asks others.
	behindAfter = 10 * time.Second
	// freshWithin is the age of another's view that shows that the database works.
	freshWithin = 5 * time.Second
	// behindCall limits one request.
	behindCall = 2 * time.Second
)

// behind detects that only this replica receives no changes: its view is old
// and another's, asked without the database, is not. Then it is not ready, so
// that agents are sent to others. When no replica receives changes, the
// database is unavailable, and all continue to serve what they know.
type behind struct {
	age    func() time.Duration
	others func() []peer.Replica
	ask    func(ctx context.Context, to peer.Replica) (peer.Condition, error)
	clock  clock.Clock

	mu  sync.Mutex
	err error
}

// Ready returns an error while others are ahead.
func (b *behind) Ready() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// Run checks until the context ends.
func (b *behind) Run(ctx context.Context) error {
	for {
		err := b.look(ctx)
		b.mu.Lock()
		b.err = err
		b.mu.Unlock()
		select {
		case <-b.clock.After(jitter.Around(behindEvery, behindEvery/5)):
		case <-ctx.Done():
			return nil
		}
	}
}

func (b *behind) look(ctx context.Context) error {
	age := b.age()
	if age < behindAfter {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, behindCall)
	defer cancel()
	others := b.others()
	answers := make(chan peer.Condition, len(others))
	var asking sync.WaitGroup
	for _, other := range others {
		asking.Go(func() {
			// A replica that does not answer proves nothing about the database.
			if c, err := b.ask(ctx, other); err == nil {
				answers <- c
			}
		})
	}
	asking.Wait()
	close(answers)
	for c := range answers {
		if c.FeedAge < freshWithin && c.Position.Sequence > 0 {
			return errcode.New(errcode.Unavailable, "this replica has received no changes for %v, but others have; check its connection to the database", age.Round(time.Second))
		}
	}
	return nil
}
