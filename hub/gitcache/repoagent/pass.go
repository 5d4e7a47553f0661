package repoagent

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/tracing"
)

// pass reads upstream, evaluates the sources and records the upstream's health. An
// error with code Conflict means that the lease is lost.
func (a *Agent) pass(life context.Context, urgent bool) (err error) {
	ctx, span := tracing.Start(life, "look upstream")
	span.Set("repository", a.Config.RepositoryID)
	defer func() { span.End(err) }()
	if a.Config.PassLimit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.Config.PassLimit)
		defer cancel()
	}
	began := a.Config.Clock.Now()
	a.said, a.fetched = context.Canceled, false // nothing yet
	if urgent {
		a.Retries.Lift()
	}
	leave, err := a.Config.Gates.Enter(ctx, Turn{Host: a.host, Caller: a.Config.Sharing, Urgent: urgent, Bulk: a.Config.Bulk()})
	if errors.Is(err, ErrClosed) && a.health.State == record.Failed {
		// Nothing is new: a host that stays down causes no database writes.
		a.plan(err)
		return cmp.Or(a.remote.Evaluate(ctx, nil, err), err)
	}
	sources, late := a.Config.Rows.Sources(ctx, a.Config.RepositoryID)
	if err == nil {
		reading, read := tracing.Start(ctx, "read upstream")
		if late == nil {
			late, err = a.read(reading, sources)
		}
		leave(a.said)
		read.End(err)
	}
	if late != nil {
		return a.later(ctx, late)
	}
	if err != nil && life.Err() != nil {
		return err
	}
	err = a.Told(err)
	next := a.plan(err)
	evaluating, evaluated := tracing.Start(ctx, "evaluate sources")
	late = a.remote.Evaluate(evaluating, sources, err)
	evaluated.End(late)
	if lost(late) || life.Err() != nil {
		return cmp.Or(late, err)
	}
	if late != nil {
		err = a.Told(late)
	}
	if late := a.recordHealth(life, err, next); lost(late) {
		return late
	}
	a.remote.Tidy(ctx, err == nil)
	a.Config.OnPass(a.fetched, err, a.Config.Clock.Now().Sub(began))
	return err
}

// read reads upstream when the store permits it. late is an error of the store, which
// says nothing about upstream.
func (a *Agent) read(ctx context.Context, sources []record.Source) (late, err error) {
	if late = a.start(ctx); late != nil {
		return late, nil
	}
	// The gap counts from the end of the read, because upstream saw it begin earlier.
	defer a.started()
	if err := a.remote.Read(ctx, sources); err != nil {
		return nil, err
	}
	a.fetchSeq++
	a.readAt = a.Config.Clock.Now()
	return nil, nil
}

// start asks the store for permission to begin, and waits as long as it says.
func (a *Agent) start(ctx context.Context) error {
	gap := a.Config.Gap
	if !a.begun {
		// An earlier owner may have been killed: upstream saw its pass begin a little
		// later than the store recorded.
		gap += gap * 2 / 5
	}
	for {
		err := a.Config.Results.StartFetch(ctx, a.Config.RepositoryID, a.Config.Epoch, gap)
		a.started()
		if !errcode.Is(err, errcode.Exhausted) {
			a.begun = a.begun || err == nil
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-a.Config.Clock.After(max(10*time.Millisecond, errcode.RetryAfter(err))):
		}
	}
}

// later schedules a pass again soon after the store did not permit it.
func (a *Agent) later(ctx context.Context, err error) error {
	_ = a.remote.Evaluate(ctx, nil, err) // answers waiting callers; writes nothing
	if !lost(err) && !errors.Is(err, context.Canceled) && ctx.Err() == nil {
		a.warn("pass cannot start", err)
	}
	a.postpone()
	return err
}

// recordHealth writes the upstream's health, for people and for the repository's
// status.
func (a *Agent) recordHealth(ctx context.Context, err error, next time.Time) error {
	now := a.Config.Clock.Now()
	h := a.health
	if err == nil {
		// Not now: a database that lost rows since the read, and began a new incarnation,
		// must not take this pass for one that saw what is left.
		h.State, h.Message, h.CheckedAt, h.FailedSince = record.Pullable, "", a.readAt, time.Time{}
	} else {
		if h.State != record.Failed || h.FailedSince.IsZero() {
			h.FailedSince = now
		}
		h.State, h.Message = record.Failed, errcode.Message(err)
		a.warn("upstream cannot be read", err)
	}
	h.Bytes, h.NextAt = a.bytes, next
	if err := a.Config.Results.WriteHealth(ctx, a.Config.RepositoryID, a.Config.Epoch, h); err != nil {
		return err
	}
	a.health = h
	return nil
}

// sourcesChanged evaluates sources without asking upstream, if the last read covers
// them; otherwise it requests a pass. While upstream fails, new sources get what is
// already here, or the error: they do not make the hub ask upstream sooner.
func (a *Agent) sourcesChanged(ctx context.Context) {
	sources, err := a.Config.Rows.Sources(ctx, a.Config.RepositoryID)
	if err != nil {
		a.warn("sources cannot be read", err)
		return // the next poll sees them
	}
	switch last := a.Last(); {
	case last == nil && a.remote.Covers(ctx, sources):
		err = a.remote.Evaluate(ctx, sources, nil)
	case a.Failing():
		err = a.remote.Evaluate(ctx, sources, last)
	default:
		a.Again()
	}
	if err != nil && ctx.Err() == nil {
		a.warn("sources cannot be evaluated", err)
	}
}

// lost reports whether an error means that another replica has the lease.
func lost(err error) bool { return errcode.Is(err, errcode.Conflict) }
