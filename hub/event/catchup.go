package event

import (
	"context"
	"fmt"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
)

// waitLimit limits how long a request waits for this replica to catch up with
// what its caller has seen elsewhere.
const waitLimit = 2 * time.Second

// CatchUp ensures that an answer is not older than what its caller has seen: at
// once in the common case, otherwise it waits for at most 2 s and then returns
// an Unavailable error. A place in an incarnation newer than this replica's own
// waits too; one in an older incarnation does not, the newer life beats it.
// Only callers that known accepts are waited for; one that this replica does
// not know may be known to a newer view, so it is not turned away for good
// either. What a caller says begins nothing; see Recall.
func (f *Feed) CatchUp(ctx context.Context, seen Position, known func(context.Context) error) error {
	if !f.Position().Before(seen) {
		return nil
	}
	// The database may hang, and known may query it.
	bounded, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	err := known(bounded)
	if err == nil {
		err = f.WaitFor(bounded, seen)
	}
	if err != nil && ctx.Err() == nil {
		return notThere(seen)
	}
	return err
}

// WaitFor is CatchUp for known callers.
func (f *Feed) WaitFor(ctx context.Context, p Position) error {
	if err := f.Ready(); err != nil {
		return err
	}
	deadline := f.clock.After(waitLimit)
	for {
		f.mu.Lock()
		behind, moved := f.position.Before(p), f.moved
		f.mu.Unlock()
		if !behind {
			return nil
		}
		f.Wake()
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline:
			return notThere(p)
		}
	}
}

func notThere(p Position) error {
	return errcode.New(errcode.Unavailable, "this replica has not caught up with position %s yet; try again in a second", p).After(time.Second)
}

// evidence is a position that the hub issued, and who proved that.
type evidence struct {
	at      Position
	witness string
}

// Proof returns the proof that this hub issued a position, for a client to show
// later; empty when there are no proofs.
func (f *Feed) Proof(at Position) string { return f.proofs.Of(at) }

// Recall reports whether shown is this hub's proof of a position. If so, the
// feed checks whether the database still has that position. It never waits.
// witness is the client that showed it, for the log.
func (f *Feed) Recall(shown, witness string) bool {
	at, ok := f.proofs.Proved(shown)
	if !ok {
		return false
	}
	f.mu.Lock()
	if f.recalled.at.Before(at) {
		f.recalled = evidence{at, witness}
	}
	f.mu.Unlock()
	f.Wake()
	return true
}

// weigh checks once what was recalled, when the database seems not to have it.
func (f *Feed) weigh(ctx context.Context) error {
	f.mu.Lock()
	e := f.recalled
	f.recalled = evidence{}
	behind := f.position.Before(e.at)
	f.mu.Unlock()
	if !behind {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	return f.repair(ctx, e)
}

// repair lets a store that supports it find out that a position was lost. A
// rebuild follows when the new incarnation is read.
func (f *Feed) repair(ctx context.Context, e evidence) error {
	if m, ok := f.store.(Repairer); ok {
		if err := m.Repair(ctx, e.at, e.witness); err != nil {
			return fmt.Errorf("look for position %s: %w", e.at, err)
		}
	}
	return nil
}
