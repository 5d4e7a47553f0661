package hub

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// followTimeout bounds the work of one turn.
	followTimeout = 10 * time.Minute
	// reconcileEvery repairs what nothing else would: a head that was written
	// while no replica was able to follow it up.
	reconcileEvery = 10 * time.Minute
)

// heads follows moved heads up: each gives the services that follow it a
// revision. Changed limits of projects reach their services in the same way.
// What is to be done stands in the database, beside what was changed, so a
// killed replica loses nothing; all replicas hear of it and one works, under a
// lease.
//
//	feed row "head" -> follow.FollowHeads
//	feed row "project" -> fleet.SettleLimits
//	start, every 10 min -> both, which ask for what is left and find nothing
type heads struct {
	work    []func(ctx context.Context) error
	changed func(repositoryID string)
	look    func() // at every upstream, soon
	clock   clock.Clock
	log     *slog.Logger
	wake    chan struct{}
	// since is when the one that works heard of what it has not done yet, in
	// microseconds, 0 for nothing. Others hear of it too, and keep 0.
	since   atomic.Int64
	working atomic.Bool
}

func newHeads(changed func(string), look func(), c clock.Clock, log *slog.Logger, work ...func(ctx context.Context) error) *heads {
	return &heads{work: work, changed: changed, look: look, clock: c, log: log, wake: make(chan struct{}, 1)}
}

// Rebuild implements event.Subscriber. A database that lost its last seconds
// may have lost heads with them: upstreams are looked at now, not at the next
// poll, so that agents are not given older content for longer than that takes.
func (h *heads) Rebuild(context.Context) error {
	h.turn()
	h.changed("")
	h.look()
	return nil
}

// Apply implements event.Subscriber. It only takes notes; the feed must not
// wait for writes that end up in it.
func (h *heads) Apply(_ context.Context, rows []event.Row) error {
	for _, r := range rows {
		switch r.Kind {
		case event.KindProject, event.KindHead:
			h.turn()
		case event.KindRepository:
			h.changed(r.Key)
		case event.KindSource:
			// Its key is the repository. Hubs of the release before wrote the
			// source, of which only the owner's database knows more.
			if strings.HasPrefix(r.Key, "src_") {
				r.Key = ""
			}
			h.changed(r.Key)
		}
	}
	return nil
}

// turn makes the one that works look.
func (h *heads) turn() {
	if h.working.Load() {
		h.since.CompareAndSwap(0, clock.Micros(h.clock.Now()))
	}
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// waiting is for how long something waits, on the replica that works.
func (h *heads) waiting() time.Duration {
	since := h.since.Load()
	if since == 0 {
		return 0
	}
	return max(0, h.clock.Now().Sub(clock.FromMicros(since)))
}

// Run works until the context ends. What fails is tried again.
func (h *heads) Run(ctx context.Context) error {
	backoff := jitter.Backoff{Min: 200 * time.Millisecond, Max: 30 * time.Second}
	h.working.Store(true)
	defer func() {
		h.working.Store(false)
		h.since.Store(0)
	}()
	h.turn()
	periodic := h.clock.After(jitter.Around(reconcileEvery, reconcileEvery/5))
	for {
		select {
		case <-h.wake:
		case <-periodic:
			periodic = h.clock.After(jitter.Around(reconcileEvery, reconcileEvery/5))
		case <-ctx.Done():
			return nil
		}
		since := h.since.Load()
		err := h.do(ctx)
		if err == nil {
			// What came meanwhile woke us too.
			h.since.CompareAndSwap(since, 0)
			backoff.Reset()
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		h.log.Warn("moved heads or changed limits were not followed up; trying again", logkey.Error, err)
		if jitter.Wait(ctx, backoff.Next()) != nil {
			return nil
		}
		h.turn()
	}
}

func (h *heads) do(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, followTimeout)
	defer cancel()
	var errs []error
	for _, work := range h.work {
		errs = append(errs, work(ctx))
	}
	return errors.Join(errs...)
}
