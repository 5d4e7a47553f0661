package fanout

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// chunk is how many clusters one transaction places.
	chunk = 500
	// DefaultTick is how often an active rollout is checked. Reports do not
	// wake the engine; Wake does.
	DefaultTick = 15 * time.Second
	// idleTicks is how many ticks apart a finished rollout is checked, for
	// clusters that came later.
	idleTicks = 8
	// minTick is for plans with a short soak time, as in tests.
	minTick = 250 * time.Millisecond
)

// Config holds an Engine's dependencies. The fields before the blank line are
// required.
type Config struct {
	Rollouts RolloutStore
	Targets  TargetStore
	Writer   Writer
	Subject  Subject

	// Tick is DefaultTick when zero.
	Tick  time.Duration
	Clock clock.Clock
	Log   *slog.Logger
}

// Engine rolls out one subject.
type Engine struct {
	rollouts RolloutStore
	targets  TargetStore
	writer   Writer
	subject  Subject
	tick     time.Duration
	clock    clock.Clock
	log      *slog.Logger
	wake     chan struct{}
	came     came
}

// New returns an Engine.
func New(c Config) (*Engine, error) {
	if c.Rollouts == nil || c.Targets == nil || c.Writer == nil || c.Subject == nil {
		return nil, errors.New("fanout: a store, a writer and a subject are needed")
	}
	if c.Tick == 0 {
		c.Tick = DefaultTick
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Engine{rollouts: c.Rollouts, targets: c.Targets, writer: c.Writer, subject: c.Subject, tick: c.Tick, clock: c.Clock, log: c.Log, wake: make(chan struct{}, 1), came: came{all: true}}, nil
}

func (e *Engine) now() int64 { return clock.Micros(e.clock.Now()) }

// Wake makes the engine check at once.
func (e *Engine) Wake() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Run takes steps until the context ends. Only one replica should.
func (e *Engine) Run(ctx context.Context) error {
	backoff := jitter.Backoff{Min: time.Second, Max: time.Minute}
	for {
		r, more, err := e.step(ctx)
		wait := e.tick
		if !r.Phase.Active() {
			wait *= idleTicks
		} else {
			// A short soak time needs more frequent checks.
			wait = min(wait, max(minTick, r.Plan.Soak/4))
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			e.log.Warn("a rollout step failed", logkey.Error, err)
			wait = max(time.Second, backoff.Next(), errcode.RetryAfter(err))
		case more:
			wait = 0
			backoff.Reset()
		default:
			backoff.Reset()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-e.clock.After(wait):
		case <-e.wake:
		}
	}
}

// Step does what can be done now, at most one chunk, and reports whether more
// can be done at once. The next step completes what a killed process left,
// because placing and recording it are one transaction.
func (e *Engine) Step(ctx context.Context) (more bool, err error) {
	_, more, err = e.step(ctx)
	return more, err
}

func (e *Engine) step(ctx context.Context) (last Rollout, more bool, err error) {
	r, err := e.rollouts.LatestRollout(ctx, e.subject.Name())
	if errcode.Is(err, errcode.NotFound) {
		return last, false, nil
	}
	if err != nil {
		return last, false, err
	}
	// A finished rollout is checked only where something came or changed since.
	only, all := e.came.take(), true
	if r.Phase == Done {
		if all = only == nil; !all && len(only) == 0 {
			return r, false, nil
		}
	}
	defer func() {
		if err != nil || more {
			e.came.add(only)
		}
	}()
	err = e.writer.Write(ctx, func(ctx context.Context) error {
		more = false
		// Read the current row: a person may have changed it meanwhile.
		r, err := e.rollouts.LatestRollout(ctx, r.Subject)
		if err != nil {
			return err
		}
		if r.Phase == Aborted || r.Phase == Superseded {
			return nil
		}
		w := &work{Engine: e, r: r, before: r, now: e.now()}
		if !all && r.Phase == Done {
			w.only = only
		}
		targets, err := e.targets.RolloutTargets(ctx, r.ID, w.only)
		if err != nil {
			return err
		}
		if more, err = w.step(ctx, targets); err != nil {
			return fmt.Errorf("rollout %s of %s: %w", r.ID, r.Version, err)
		}
		last = w.r
		return w.save(ctx)
	})
	return last, more, err
}
