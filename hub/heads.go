package hub

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// headQueue bounds how many moved sources are remembered one by one; above
	// it all are looked at.
	headQueue = 5_000
	// headTimeout bounds the work for one source.
	headTimeout = time.Minute
	// reconcileEvery repairs what nothing else would: a head that was written
	// while no replica was able to follow it up.
	reconcileEvery = 10 * time.Minute
)

// headFleet is where moved heads become revisions.
type headFleet interface {
	HeadMoved(ctx context.Context, sourceID string) error
	ReconcileHeads(ctx context.Context) error
	SettleLimits(ctx context.Context) error
}

// heads follows moved heads up: each gives the services that follow it a
// revision. Changed limits of projects reach their services in the same way.
// All replicas take notes and one works, under a lease; the next one begins by
// looking at everything, so a killed replica loses nothing.
//
//	feed row "head" -> waiting -> fleet.HeadMoved
//	feed row "project" -> limits -> fleet.SettleLimits
//	start, overflow, every 10 min -> fleet.SettleLimits, fleet.ReconcileHeads
type heads struct {
	fleet   headFleet
	changed func(repositoryID string)
	look    func() // at every upstream, soon
	clock   clock.Clock
	log     *slog.Logger

	mu      sync.Mutex
	waiting map[string]bool
	all     bool
	limits  bool
	wake    chan struct{}
}

func newHeads(f headFleet, changed func(string), look func(), c clock.Clock, log *slog.Logger) *heads {
	return &heads{fleet: f, changed: changed, look: look, clock: c, log: log, waiting: map[string]bool{}, wake: make(chan struct{}, 1)}
}

// Rebuild implements event.Subscriber. A database that lost its last seconds
// may have lost heads with them: upstreams are looked at now, not at the next
// poll, so that agents are not given older content for longer than that takes.
func (h *heads) Rebuild(context.Context) error {
	h.add(nil, true, true)
	h.changed("")
	h.look()
	return nil
}

// Apply implements event.Subscriber. It only takes notes; the feed must not
// wait for writes that end up in it.
func (h *heads) Apply(_ context.Context, rows []event.Row) error {
	var moved []string
	limits := false
	for _, r := range rows {
		switch r.Kind {
		case event.KindProject:
			limits = true
		case event.KindHead:
			moved = append(moved, r.Key)
		case event.KindRepository:
			h.changed(r.Key)
		case event.KindSource:
			h.changed("")
		}
	}
	h.add(moved, false, limits)
	return nil
}

func (h *heads) add(moved []string, all, limits bool) {
	if len(moved) == 0 && !all && !limits {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.limits = h.limits || limits
	h.all = h.all || all || len(h.waiting)+len(moved) > headQueue
	if h.all {
		clear(h.waiting)
	} else {
		for _, id := range moved {
			h.waiting[id] = true
		}
	}
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

func (h *heads) take() (moved []string, all, limits bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	moved, all, limits = slices.Sorted(maps.Keys(h.waiting)), h.all, h.limits
	clear(h.waiting)
	h.all, h.limits = false, false
	return moved, all, limits
}

// size is how many moved sources wait; -1 is all of them.
func (h *heads) size() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all {
		return -1
	}
	return len(h.waiting)
}

// Run works until the context ends. What fails is tried again, and everything
// is looked at now and then.
func (h *heads) Run(ctx context.Context) error {
	backoff := jitter.Backoff{Min: 200 * time.Millisecond, Max: 30 * time.Second}
	periodic := h.clock.After(jitter.Around(reconcileEvery, reconcileEvery/5))
	for {
		select {
		case <-h.wake:
		case <-periodic:
			periodic = h.clock.After(jitter.Around(reconcileEvery, reconcileEvery/5))
			h.add(nil, true, true)
		case <-ctx.Done():
			return nil
		}
		moved, all, limits := h.take()
		if err := h.work(ctx, moved, all, limits); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			h.log.Warn("moved heads or changed limits were not followed up; trying again", logkey.Error, err)
			if jitter.Wait(ctx, backoff.Next()) != nil {
				return nil
			}
			h.add(moved, all, limits)
			continue
		}
		backoff.Reset()
	}
}

func (h *heads) work(ctx context.Context, moved []string, all, limits bool) error {
	if limits {
		if err := h.settle(ctx); err != nil {
			return err
		}
	}
	if all {
		ctx, cancel := context.WithTimeout(ctx, 10*headTimeout)
		defer cancel()
		return h.fleet.ReconcileHeads(ctx)
	}
	for _, id := range moved {
		if err := h.moved(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

func (h *heads) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*headTimeout)
	defer cancel()
	return h.fleet.SettleLimits(ctx)
}

func (h *heads) moved(ctx context.Context, sourceID string) error {
	ctx, cancel := context.WithTimeout(ctx, headTimeout)
	defer cancel()
	// A source that went meanwhile has nobody who follows it.
	if err := h.fleet.HeadMoved(ctx, sourceID); err != nil && !errcode.Is(err, errcode.NotFound) {
		return err
	}
	return nil
}
