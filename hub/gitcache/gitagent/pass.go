package gitagent

import (
	"context"
	"errors"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/pace"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/tracing"
)

// pass lists refs, fetches when one moved, evaluates sources and records
// upstream's health. An error with code Conflict means that the lease is lost.
func (a *Agent) pass(ctx context.Context, urgent bool) (err error) {
	ctx, span := tracing.Start(ctx, "look upstream")
	span.Set("repository", a.config.RepositoryID)
	defer func() { span.End(err) }()
	began := a.config.Clock.Now()
	a.said = context.Canceled // upstream has no result in this pass yet
	if urgent {
		a.retries.Lift()
	}
	m, _, _ := a.copy()
	leave, err := a.config.Gates.Enter(ctx, pace.Turn{Host: a.host, Urgent: urgent, Bulk: m == nil || a.anew})
	if a.known(err) {
		a.next = a.pacer.Plan(err)
		return err
	}
	sources, late := a.config.Store.Sources(ctx, a.config.RepositoryID)
	fetched := false
	if err == nil {
		reading, read := tracing.Start(ctx, "list refs and fetch")
		if late == nil {
			fetched, late, err = a.askUpstream(reading, sources)
		}
		leave(a.said)
		read.End(err)
	}
	if late != nil {
		return a.postpone(ctx, late)
	}
	if err != nil && ctx.Err() != nil {
		return err
	}
	err = a.told(err)
	a.next = a.pacer.Plan(err)
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
	if late = a.recordHealth(ctx, err); lost(late) {
		return late
	}
	if err == nil {
		a.tidy(ctx)
	}
	a.config.OnPass(fetched, err, a.config.Clock.Now().Sub(began))
	return err
}

// told converts an error for people.
func (a *Agent) told(err error) error {
	if a.server == nil {
		return record.Told(err, nil)
	}
	return record.Told(err, a.server.Scrub)
}

// known reports whether a pass that the gate refused has nothing new to record:
// a host that is down for long must cost its repositories nothing.
func (a *Agent) known(err error) bool {
	return errors.Is(err, pace.ErrClosed) && a.health.State == record.Failed
}

// askUpstream reads upstream when the store allows it. A result that comes too
// late says nothing about upstream.
func (a *Agent) askUpstream(ctx context.Context, sources []record.Source) (fetched bool, late, err error) {
	if late = a.start(ctx); late != nil {
		return false, late, nil
	}
	fetched, err = a.read(ctx, sources)
	// Counted from here, the gap also holds as upstream measures it: for
	// upstream this pass began before now.
	a.pacer.Started()
	return fetched, nil, err
}

// postpone retries a pass soon that the store did not allow to begin.
func (a *Agent) postpone(ctx context.Context, err error) error {
	if !lost(err) && !stopped(err) && ctx.Err() == nil {
		a.config.Log.Warn("pass cannot start", logkey.Repository, a.config.RepositoryID, logkey.Error, err)
	}
	a.pacer.Postpone()
	return err
}

// start asks the store for permission to begin and waits as long as it says.
func (a *Agent) start(ctx context.Context) error {
	gap := a.config.Gap
	if !a.begun {
		// An earlier run may have been killed: upstream saw its fetch begin a
		// little later than was recorded.
		gap += gap * 2 / 5
	}
	for {
		err := a.config.Store.StartFetch(ctx, a.config.RepositoryID, a.config.Epoch, gap)
		a.pacer.Started()
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

// recordHealth writes upstream's health, for people and for the repository's status.
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
	h.NextAt = a.next
	if err := a.config.Store.WriteHealth(ctx, a.config.RepositoryID, a.config.Epoch, h); err != nil {
		return err
	}
	a.health = h
	return nil
}
