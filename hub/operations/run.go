package operations

import (
	"context"
	"log/slog"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// chunk is how many targets of an operation have a turn before the next
	// operation has one: a large operation does not keep a small one waiting.
	chunk = 50
	// targetTimeout limits one target.
	targetTimeout = 30 * time.Second
	// tries is how often a target is tried that fails for a technical reason.
	tries = 3
)

// Rebuild implements event.Subscriber.
func (o *Operations) Rebuild(context.Context) error {
	o.woken()
	return nil
}

// Apply implements event.Subscriber: it wakes the replica that works.
func (o *Operations) Apply(_ context.Context, rows []event.Row) error {
	for _, row := range rows {
		if row.Kind == event.KindOperation {
			o.woken()
			return nil
		}
	}
	return nil
}

func (o *Operations) woken() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Run works operations off until ctx ends, on the one replica that may.
func (o *Operations) Run(ctx context.Context) error {
	backoff := jitter.Backoff{Min: time.Second, Max: time.Minute}
	for {
		err := o.workOff(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			o.Log.LogAttrs(ctx, slog.LevelWarn, "operations wait; trying again", slog.Any(logkey.Error, err))
			if jitter.Wait(ctx, backoff.Next()) != nil {
				return nil
			}
			continue
		}
		backoff = jitter.Backoff{Min: time.Second, Max: time.Minute}
		select {
		case <-o.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// workOff works until nothing runs: a chunk of each operation in turn.
func (o *Operations) workOff(ctx context.Context) error {
	var turn []string
	for {
		op, found, err := o.Store.Work.NextOperation(ctx, turn)
		if err != nil {
			return err
		}
		if !found && len(turn) == 0 {
			return nil
		}
		if !found {
			turn = nil // everybody had a turn
			continue
		}
		turn = append(turn, op.ID)
		if err := o.work(ctx, op); err != nil {
			return err
		}
	}
}

// work does the next chunk of an operation, and ends one of which nothing waits.
func (o *Operations) work(ctx context.Context, op Operation) error {
	waiting, err := o.Store.Work.WaitingTargets(ctx, op.ID, chunk)
	if err != nil {
		return err
	}
	if len(waiting) == 0 {
		return o.finish(ctx, op.ID)
	}
	ids := make([]string, len(waiting))
	for i, t := range waiting {
		ids[i] = t.ServiceID
	}
	places, err := o.places(ctx, ids)
	if err != nil {
		return err
	}
	for _, t := range waiting {
		at, exists := places[t.ServiceID]
		if err := o.target(ctx, op, t, at, exists); err != nil {
			return err
		}
	}
	return nil
}

// finish ends an operation with what its targets came to.
func (o *Operations) finish(ctx context.Context, id string) error {
	err := o.Writer.Write(ctx, func(ctx context.Context) error {
		op, err := o.Store.Operations.Operation(ctx, id)
		if err != nil {
			return err
		}
		return o.end(ctx, &op, op.ended())
	})
	if errcode.Is(err, errcode.Conflict) || errcode.Is(err, errcode.NotFound) {
		return nil // somebody cancelled it meanwhile
	}
	return err
}

// target does the action on one service, or writes why not.
func (o *Operations) target(ctx context.Context, op Operation, t Target, at place, exists bool) (err error) {
	limited, cancel := context.WithTimeout(ctx, targetTimeout)
	defer cancel()
	for try := 1; ; try++ {
		if !exists {
			err = errcode.New(errcode.NotFound, "the service was deleted")
		} else {
			err = o.act(limited, op, t, at)
		}
		technical := err != nil && (errcode.Is(err, errcode.Internal) || errcode.Is(err, errcode.Unavailable))
		switch {
		case err == nil, errSettled(err):
			return nil
		case ctx.Err() != nil:
			return ctx.Err() // we stop
		case technical && try < tries && jitter.Wait(limited, jitter.Around(time.Second, time.Second/2)) == nil:
			continue
		}
		if technical {
			o.Log.LogAttrs(ctx, slog.LevelError, "a service of an operation failed with an internal error", slog.String(logkey.Service, t.ServiceID), slog.Any(logkey.Error, err))
		}
		t.State, t.Message, t.At = TargetFailed, errcode.Message(err), o.now()
		return o.settle(ctx, t, nil)
	}
}

// act does the action in the transaction that settles the target.
func (o *Operations) act(ctx context.Context, op Operation, t Target, at place) error {
	caller, err := o.Identity.Caller(ctx, op.TokenID)
	if err != nil {
		return err
	}
	if err := o.Identity.Authorize(ctx, caller, identity.ActionWrite, at.scope); err != nil {
		return err
	}
	t.State, t.Message, t.At = TargetDone, "", o.now()
	err = o.settle(ctx, t, func(ctx context.Context) error {
		return o.change(event.Because(ctx, event.Why{Reason: op.Reason, Operation: op.ID}), op, at.ref)
	})
	if err == nil && op.Action == Sync && at.repositoryID != "" {
		if err := o.Refresh(ctx, at.repositoryID); err != nil { // the next poll does it
			o.Log.LogAttrs(ctx, slog.LevelDebug, "an upstream was not asked for news by an operation", slog.Any(logkey.Error, err))
		}
	}
	return err
}

func (o *Operations) change(ctx context.Context, op Operation, ref fleet.Ref) (err error) {
	switch op.Action {
	case Sync:
		_, err = o.Services.SyncService(ctx, op.By, ref)
	case Pause:
		_, err = o.Services.PauseService(ctx, op.By, ref)
	case Resume:
		_, err = o.Services.ResumeService(ctx, op.By, ref)
	case Rollback:
		_, err = o.Services.RollbackService(ctx, op.By, ref, 0)
	default:
		err = op.Action.Check()
	}
	return err
}

// settled is the error of a target that does not wait any more.
type settled struct{ error }

func errSettled(err error) bool {
	_, ok := err.(settled) //nolint:errorlint // it is returned as it is
	return ok
}

// settle writes the end of a target together with what it changes.
func (o *Operations) settle(ctx context.Context, t Target, change func(ctx context.Context) error) error {
	gone := false
	err := o.Writer.Write(ctx, func(ctx context.Context) error {
		// First the target's own row, so that of two only one changes the service.
		err := o.Store.Work.SettleTarget(ctx, t)
		if gone = errcode.Is(err, errcode.Conflict); err != nil {
			return err
		}
		if change != nil {
			if err := change(ctx); err != nil {
				return err
			}
		}
		return changed(ctx, t.OperationID)
	})
	if gone {
		return settled{err}
	}
	return err
}
