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
	// followTimeout limits the work of one turn.
	followTimeout = 10 * time.Minute
	// reconcileEvery covers heads that were written while no replica could
	// process them.
	reconcileEvery = 10 * time.Minute
)

// heads processes moved heads: each gives the services that follow it a
// revision. Changed limits of projects reach their services in the same way.
// The database records the pending work with each change, so a killed replica
// loses nothing. All replicas see it in the feed, and one does the work, under
// a lease.
//
//	feed row "head" -> follow.FollowHeads
//	feed row "project" -> fleet.SettleLimits
//	feed row "global" -> globals.SpreadSome
//	start, every 10 min -> all, which ask for what is left and find nothing
type heads struct {
	work    []someWork
	changed func(repositoryID string)
	look    func() // checks every upstream, soon
	clock   clock.Clock
	log     *slog.Logger
	wake    chan struct{}
	// since is when the working replica learnt of its pending work, in
	// microseconds, 0 for none. The others keep 0.
	since   atomic.Int64
	working atomic.Bool
}

// someWork does what there is to do, or a part of it, and reports whether there is more:
// the other work comes first then.
type someWork func(ctx context.Context) (more bool, err error)

// all is work that is done at once.
func all(work func(ctx context.Context) error) someWork {
	return func(ctx context.Context) (bool, error) { return false, work(ctx) }
}

func newHeads(changed func(string), look func(), c clock.Clock, log *slog.Logger, work ...someWork) *heads {
	return &heads{work: work, changed: changed, look: look, clock: c, log: log, wake: make(chan struct{}, 1)}
}

// Rebuild implements event.Subscriber. A database that lost its last seconds
// may have lost heads with them. Upstreams are therefore checked now and not at
// the next poll, so that agents get older content for as short as possible.
func (h *heads) Rebuild(context.Context) error {
	h.turn()
	h.changed("")
	h.look()
	return nil
}

// Apply implements event.Subscriber. It only records what to do; the feed must
// not wait for writes that end up in it.
func (h *heads) Apply(_ context.Context, rows []event.Row) error {
	for _, r := range rows {
		switch r.Kind {
		case event.KindProject, event.KindHead, event.KindGlobal:
			h.turn()
		case event.KindRepository:
			h.changed(r.Key)
		case event.KindSource:
			// The key is the repository. Hubs of the previous release wrote the
			// source, and only the owner's database knows its repository.
			if strings.HasPrefix(r.Key, "src_") {
				r.Key = ""
			}
			h.changed(r.Key)
		}
	}
	return nil
}

// turn wakes the working replica.
func (h *heads) turn() {
	if h.working.Load() {
		h.since.CompareAndSwap(0, clock.Micros(h.clock.Now()))
	}
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// waiting returns how long work has been pending, on the working replica.
func (h *heads) waiting() time.Duration {
	since := h.since.Load()
	if since == 0 {
		return 0
	}
	return max(0, h.clock.Now().Sub(clock.FromMicros(since)))
}

// Run works until the context ends. Failures are retried.
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
		more, err := h.do(ctx)
		if err == nil && more {
			h.turn()
			backoff.Reset()
			continue
		}
		if err == nil {
			// Work that came meanwhile woke us too.
			h.since.CompareAndSwap(since, 0)
			backoff.Reset()
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		h.log.Warn("moved heads, changed limits or global services were not processed; trying again", logkey.Error, err)
		if jitter.Wait(ctx, backoff.Next()) != nil {
			return nil
		}
		h.turn()
	}
}

func (h *heads) do(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, followTimeout)
	defer cancel()
	var errs []error
	for _, work := range h.work {
		left, err := work(ctx)
		more, errs = more || left, append(errs, err)
	}
	return more, errors.Join(errs...)
}
