package peer

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

// The durations of every lease. The fence leaves 13 s between the end of the
// old holder's work and the start of the next one's.
const (
	// LeaseTTL is how long a lease lasts by the database's clock.
	LeaseTTL = 20 * time.Second
	// RenewEvery is the time between renewals, and between tries to acquire.
	RenewEvery = 5 * time.Second
	// FenceAfter is when a holder stops by its own clock, counted from the
	// start of its last successful renewal.
	FenceAfter = 12 * time.Second
	// TakeOverGrace is how long after its expiry a lease may not be taken.
	TakeOverGrace = 5 * time.Second
)

// LeaseStore stores leases by name. Times are by the database's clock.
type LeaseStore interface {
	// AcquireLease makes holder the holder of a lease that is free or expired
	// more than grace ago and returns its epoch, one more than the last.
	// errcode.Conflict when another holds it.
	AcquireLease(ctx context.Context, name, holder string, ttl, grace time.Duration) (epoch int64, err error)
	// RenewLease extends a lease. errcode.Conflict when it was lost.
	RenewLease(ctx context.Context, name, holder string, epoch int64, ttl time.Duration) error
	// ReleaseLease frees a lease at once, or does nothing when it was lost.
	ReleaseLease(ctx context.Context, name, holder string, epoch int64) error
}

// LeaseConfig holds a Lease's dependencies. Clock and Log may be nil.
type LeaseConfig struct {
	Store LeaseStore
	// Name is the task of the lease: "feed", "rebalance".
	Name string
	// Holder is one run of one replica; a restarted one is another holder.
	Holder string
	Clock  clock.Clock
	Log    *slog.Logger
}

// Lease lets one replica at a time do a task.
type Lease struct {
	LeaseConfig
}

// NewLease returns a lease that is not acquired before Run.
func NewLease(c LeaseConfig) (*Lease, error) {
	if c.Store == nil || c.Name == "" || c.Holder == "" {
		return nil, errors.New("peer: a lease needs a store, a name and a holder")
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Lease{c}, nil
}

// Run calls lead whenever this replica holds the lease, and ends lead's context
// when it no longer does, until its own context ends. lead must return soon
// after its context ended; when it returns earlier, the lease is released and
// acquired again.
func (l *Lease) Run(ctx context.Context, lead func(ctx context.Context, epoch int64) error) error {
	for ctx.Err() == nil {
		start := l.Clock.Now()
		epoch, err := l.acquire(ctx)
		if err == nil {
			err = l.hold(ctx, epoch, start, lead)
		}
		if err != nil && ctx.Err() == nil && !errcode.Is(err, errcode.Conflict) {
			l.Log.Warn("a lease was not held", "lease", l.Name, logkey.Epoch, epoch, logkey.Error, err)
		}
		select {
		case <-l.Clock.After(jitter.Around(RenewEvery, RenewEvery/5)):
		case <-ctx.Done():
		}
	}
	return nil
}

func (l *Lease) acquire(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, RenewEvery)
	defer cancel()
	return l.Store.AcquireLease(ctx, l.Name, l.Holder, LeaseTTL, TakeOverGrace)
}

var errFenced = errors.New("the lease could not be renewed in time")

// hold leads until the context ends, the lease is lost, or renewals fail for
// too long. start is the time before the acquisition was requested.
func (l *Lease) hold(ctx context.Context, epoch int64, start time.Time, lead func(ctx context.Context, epoch int64) error) error {
	l.Log.Info("lease acquired", "lease", l.Name, logkey.Epoch, epoch)
	leading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	done := make(chan error, 1)
	go func() { done <- lead(leading, epoch) }()
	ended, err := l.renewUntilLost(leading, epoch, start, done)
	stop(err)
	if !ended {
		err = errors.Join(err, <-done)
	}
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), RenewEvery)
	defer cancel()
	return errors.Join(err, l.Store.ReleaseLease(release, l.Name, l.Holder, epoch))
}

// renewUntilLost renews every 5 s until the lease is lost or the work ended,
// and returns the work's error.
func (l *Lease) renewUntilLost(ctx context.Context, epoch int64, good time.Time, done <-chan error) (ended bool, _ error) {
	for {
		fence := FenceAfter - l.Clock.Now().Sub(good)
		if fence <= 0 {
			return false, errFenced
		}
		select {
		case <-l.Clock.After(min(RenewEvery, fence)):
		case err := <-done:
			return true, err
		case <-ctx.Done():
			return false, nil
		}
		start := l.Clock.Now()
		left := FenceAfter - start.Sub(good)
		if left <= 0 {
			return false, errFenced
		}
		call, cancel := context.WithTimeout(ctx, left)
		err := l.Store.RenewLease(call, l.Name, l.Holder, epoch, LeaseTTL)
		cancel()
		switch {
		case err == nil:
			good = start
		case errcode.Is(err, errcode.Conflict):
			return false, err
		case ctx.Err() == nil:
			l.Log.Warn("a lease was not renewed; trying again", "lease", l.Name, logkey.Epoch, epoch, logkey.Error, err)
		}
	}
}
