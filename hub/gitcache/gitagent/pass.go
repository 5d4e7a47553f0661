package gitagent

import (
	"context"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/tracing"
)

// pass lists refs, fetches when one moved, evaluates sources and records how
// upstream is. An error with code Conflict means that the lease is gone.
func (a *Agent) pass(ctx context.Context) (err error) {
	ctx, span := tracing.Start(ctx, "look upstream")
	span.Set("repository", a.config.RepositoryID)
	defer func() { span.End(err) }()
	began := a.config.Clock.Now()
	if err := a.start(ctx); err != nil {
		if !lost(err) && !stopped(err) {
			a.config.Log.Warn("pass cannot start", logkey.Repository, a.config.RepositoryID, logkey.Error, err)
			a.lastStart = began // not in a circle
		}
		return err
	}
	reading, read := tracing.Start(ctx, "list refs and fetch")
	sources, fetched, err := a.read(reading)
	err = a.told(err)
	read.End(err)
	// Counted from here, the gap holds where upstream measures it too: it saw
	// this pass begin before now.
	a.lastStart = a.config.Clock.Now()
	if err != nil && ctx.Err() != nil {
		return err
	}
	a.plan(err)
	evaluating, evaluated := tracing.Start(ctx, "evaluate sources")
	if err == nil {
		err = a.evaluate(evaluating, sources)
	} else if late := a.evaluateFromMirror(evaluating, sources, err); lost(late) {
		err = late
	}
	evaluated.End(nil)
	if lost(err) || ctx.Err() != nil {
		return err
	}
	if damage := a.heal(ctx); damage != nil {
		err = damage
	}
	err = a.told(err)
	a.mu.Lock()
	a.last = err
	a.mu.Unlock()
	if late := a.recordHealth(ctx, err); lost(late) {
		return late
	}
	if err == nil {
		a.tidy(ctx)
	}
	a.config.OnPass(fetched, err, a.config.Clock.Now().Sub(began))
	return err
}

// told is an error as people see it.
func (a *Agent) told(err error) error {
	if a.server == nil {
		return record.Told(err, nil)
	}
	return record.Told(err, a.server.Scrub)
}

// start asks the store for the right to begin and waits as long as it says.
func (a *Agent) start(ctx context.Context) error {
	gap := a.config.Gap
	if !a.begun {
		// An earlier life was killed, perhaps: upstream saw its fetch begin a
		// little later than it was recorded.
		gap += gap * 2 / 5
	}
	for {
		err := a.config.Store.StartFetch(ctx, a.config.RepositoryID, a.config.Epoch, gap)
		a.lastStart = a.config.Clock.Now()
		if !errcode.Is(err, errcode.Exhausted) {
			a.begun = a.begun || err == nil
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-a.config.Clock.After(max(10*time.Millisecond, errcode.RetryAfter(err))):
		}
	}
}

// recordHealth writes how upstream is, for people and for the repository's
// status.
func (a *Agent) recordHealth(ctx context.Context, err error) error {
	now := a.config.Clock.Now()
	h := a.health
	switch {
	case err == nil:
		h.State, h.Message, h.CheckedAt, h.FailedSince = record.Pullable, "", now, time.Time{}
	default:
		if h.State != record.Failed || h.FailedSince.IsZero() {
			h.FailedSince = now
		}
		h.State, h.Message = record.Failed, errcode.Message(err)
		a.config.Log.Warn("upstream cannot be read", logkey.Repository, a.config.RepositoryID, logkey.Error, err)
	}
	if m, _, _ := a.copy(); m != nil {
		h.Bytes = m.Size()
		a.config.Budget.Used(a.config.RepositoryID, h.Bytes)
	}
	h.NextAt = a.nextPoll
	if err := a.config.Store.WriteHealth(ctx, a.config.RepositoryID, a.config.Epoch, h); err != nil {
		return err
	}
	a.health = h
	return nil
}
