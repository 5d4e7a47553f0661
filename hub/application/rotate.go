package application

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/axle-cd/axle/hub/objects"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// How long a former secret is valid: by default, at most, and at most when no agent reports
// the new one.
const (
	defaultOverlap = time.Hour
	maxOverlap     = 7 * 24 * time.Hour
	maxWait        = 30 * 24 * time.Hour
)

// Rotation is how a secret is replaced.
type Rotation struct {
	// Overlap is how long the former one is valid after the new one arrived; 0 is 1 h.
	Overlap time.Duration
	// Now ends all former ones at once, for a secret that others know.
	Now bool
}

// Rotate gives a client a new secret, and delivers it. Conflict while a former one is valid,
// or when the operator keeps the secret, Invalid for a client without secrets.
func (a *Applications) Rotate(ctx context.Context, by string, o objects.Shown, how Rotation) error {
	if how.Overlap == 0 {
		how.Overlap = defaultOverlap
	}
	if how.Overlap < 0 || how.Overlap > maxOverlap {
		return invalid("overlap", "is not between 0 and %s", words(maxOverlap))
	}
	s, err := parse(o.Spec)
	if err != nil {
		return err
	}
	if s.Public {
		return invalid("name", "application %s is a public client, which has no secret", o.Name)
	}
	if !how.Now && o.ManagedBy.OfCluster() && clusterOf(o.References) == "" {
		return errcode.New(errcode.Conflict, "application %s is managed by %s, and its secret is in a Secret there: replace it there; a new one of the hub would reach nobody. --now ends the present one all the same", o.Name, o.ManagedBy)
	}
	if err := a.config.Writer.Write(ctx, func(ctx context.Context) error { return a.rotate(ctx, by, o, s, how) }); err != nil {
		return err
	}
	a.Wrote(ctx, o.Object)
	return nil
}

func (a *Applications) rotate(ctx context.Context, by string, o objects.Shown, of Settings, how Rotation) error {
	present, found, err := a.config.Store.ObjectByID(ctx, o.ID)
	if err == nil && (!found || present.Revision != o.Revision) {
		err = errcode.New(errcode.Conflict, "application %s was changed meanwhile; repeat the rotation", o.Name)
	}
	if err != nil {
		return err
	}
	all, err := a.config.Store.Secrets(ctx, o.ID)
	if err != nil {
		return err
	}
	message := "the former secret stays valid for " + words(how.Overlap)
	if how.Now || len(all) == 0 {
		message = "former secrets ended at once"
		if err := a.drop(ctx, all); err != nil {
			return err
		}
		err = a.add(ctx, o.ID, NewSecret())
	} else {
		err = a.replace(ctx, all, NewSecret(), how.Overlap, clusterOf(o.References) != "")
	}
	if err != nil {
		return err
	}
	if err := a.want(ctx, o.ID, cmp.Or(of.ClientID, o.ID)); err != nil {
		return err
	}
	return record(ctx, o.Object, "rotated", by, message)
}

// replace makes a new secret the present one of a client, and the present one a former one.
func (a *Applications) replace(ctx context.Context, all []Secret, fresh string, overlap time.Duration, delivered bool) error {
	present, now := all[0], a.now()
	for _, s := range all[1:] {
		if !s.ended(now) {
			return errcode.New(errcode.Conflict, "the secret was replaced %s ago, and the former one is still valid; wait for its end, or end it with --now", words(a.config.Clock.Now().Sub(clock.FromMicros(s.FormerAt)).Round(time.Minute)))
		}
		if err := a.config.Store.DeleteClientSecret(ctx, s.ID); err != nil {
			return err
		}
	}
	present.FormerAt, present.Overlap, present.Sealed = now, overlap, ""
	if !delivered {
		present.EndsAt = now + overlap.Microseconds()
	}
	if err := a.config.Store.PutSecret(ctx, present); err != nil {
		return err
	}
	return a.add(ctx, present.ApplicationID, fresh)
}

// sweepInterval is how often former secrets are looked at, and sweepBatch how many at once.
const (
	sweepInterval = 15 * time.Second
	sweepBatch    = 200
)

// Run delivers what could not be delivered, and ends former secrets, until the context ends.
func (a *Applications) Run(ctx context.Context) error {
	for {
		if err := cmp.Or(a.deliverAgain(ctx), a.Sweep(ctx)); err != nil && ctx.Err() == nil {
			a.config.Log.Warn("the secrets of applications could not be looked at", logkey.Error, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-a.config.Clock.After(sweepInterval):
		}
	}
}

// Sweep gives former secrets their end once the new one is applied, and deletes those that
// ended.
func (a *Applications) Sweep(ctx context.Context) error {
	after := a.former.from()
	former, err := a.config.Store.FormerSecrets(ctx, after, sweepBatch)
	if err != nil {
		return err
	}
	a.former.went("")
	if len(former) == sweepBatch {
		a.former.went(former[len(former)-1].ID)
	}
	var failed error
	for _, s := range former {
		if err := a.settle(ctx, s); err != nil {
			failed = errors.Join(failed, fmt.Errorf("application %s: %w", s.ApplicationID, err))
		}
	}
	return failed
}

// settle gives a former secret its end, or deletes it after that. Each has a transaction of its
// own, so that one that cannot be settled leaves the others alone; most have nothing to change.
func (a *Applications) settle(ctx context.Context, s Secret) error {
	if change, err := a.settled(ctx, s); err != nil || change == nil {
		return err
	}
	return a.config.Writer.Write(ctx, func(ctx context.Context) error {
		all, err := a.config.Store.Secrets(ctx, s.ApplicationID)
		if err != nil {
			return err
		}
		for _, now := range all {
			if now.ID != s.ID {
				continue
			}
			change, err := a.settled(ctx, now)
			if err != nil || change == nil {
				return err
			}
			return change(ctx)
		}
		return nil // it went with its application
	})
}

// settled returns what is to be written of a former secret, nil for nothing.
func (a *Applications) settled(ctx context.Context, s Secret) (change func(ctx context.Context) error, err error) {
	now := a.now()
	switch {
	case s.ended(now):
		return func(ctx context.Context) error { return a.config.Store.DeleteClientSecret(ctx, s.ID) }, nil
	case s.EndsAt != 0:
		return nil, nil
	}
	r, found, err := a.config.Store.ClientOf(ctx, s.ApplicationID)
	if err != nil {
		return nil, err
	}
	applied := !found || r.ServiceID == "" || now-s.FormerAt > maxWait.Microseconds()
	if !applied && r.Wanted == r.Delivered {
		if applied, err = a.config.Deliverer.Applied(ctx, r.ServiceID); err != nil {
			return nil, err
		}
	}
	if !applied {
		return nil, nil
	}
	s.EndsAt = now + s.Overlap.Microseconds()
	return func(ctx context.Context) error { return a.config.Store.PutSecret(ctx, s) }, nil
}
