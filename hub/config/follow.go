package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// sweepEvery is the time between sweeps of unused documents.
	sweepEvery = 10 * time.Minute
	// workTimeout limits one round.
	workTimeout = 10 * time.Minute
)

var _ event.Subscriber = (*Keeper)(nil)

// Rebuild implements event.Subscriber.
func (k *Keeper) Rebuild(context.Context) error {
	poke(k.wake)
	return nil
}

// Apply implements event.Subscriber. The database records which contexts and
// outputs changed until their services were updated.
func (k *Keeper) Apply(_ context.Context, rows []event.Row) error {
	for _, r := range rows {
		if r.Kind == event.KindContext || r.Kind == event.KindOutputs {
			poke(k.wake)
		}
	}
	return nil
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Lead does the work of one replica at a time, until the context ends: it
// updates services when what they use changed, checks what they refer to,
// continues a migration, and sweeps.
func (k *Keeper) Lead(ctx context.Context, services Services) error {
	poke(k.wake)
	k.mu.Lock()
	clear(k.seen)
	k.mu.Unlock()
	refresh, sweep, again := k.config.Clock.After(0), k.config.Clock.After(jitter.Around(sweepEvery, sweepEvery/5)), k.config.Clock.After(0)
	backoff := jitter.Backoff{Min: 200 * time.Millisecond, Max: 30 * time.Second}
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-k.wake:
			err = k.tellAll(ctx, services)
		case <-refresh:
			err = k.refreshAll(ctx, services)
			refresh = k.config.Clock.After(jitter.Around(k.config.Refresh, k.config.Refresh/5))
		case <-sweep:
			err = k.sweep(ctx)
			poke(k.wake)
			sweep = k.config.Clock.After(jitter.Around(sweepEvery, sweepEvery/5))
		case <-k.moving:
			again = k.carryOn(ctx)
		case <-again:
			again = k.carryOn(ctx)
		}
		if err != nil && ctx.Err() == nil {
			k.config.Log.Warn("services were not updated with changed values; trying again", logkey.Error, err)
			if jitter.Wait(ctx, backoff.Next()) != nil {
				return nil
			}
			continue
		}
		backoff.Reset()
	}
}

// tellAll updates the services of each context and outputs that changed since
// their last update. Failures are retried.
func (k *Keeper) tellAll(ctx context.Context, services Services) error {
	ctx, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	valueSets, err := k.config.Tells.UntoldValueSets(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, b := range valueSets {
		err := k.tell(ctx, services, fleet.Use{Kind: b.Kind, Name: b.Name}, b.UpdatedBy, false)
		if err == nil {
			err = k.config.Writer.Write(ctx, func(ctx context.Context) error { return k.config.Tells.ToldValueSet(ctx, b.Kind, b.Name, b.Version) })
		}
		failed = append(failed, err)
	}
	err = errors.Join(failed...)
	if err != nil {
		poke(k.wake)
	}
	return err
}

// tell updates the services of one use. A failing one does not stop the others.
func (k *Keeper) tell(ctx context.Context, services Services, u fleet.Use, by string, refresh bool) error {
	ids, err := k.config.Uses.UsedBy(ctx, u, "")
	if err != nil {
		return err
	}
	var failed []error
	for _, id := range ids {
		_, err := services.Reconfigure(ctx, id, by, refresh)
		if errcode.Is(err, errcode.Invalid) || errcode.Is(err, errcode.Forbidden) {
			// A retry would not help; the service keeps its values.
			k.config.Log.Warn("a service was not updated and keeps its values", logkey.Service, id, logkey.Error, err)
			continue
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// refreshAll reads every path that services refer to and updates the services
// of paths with changed values. An unavailable backend changes nothing.
func (k *Keeper) refreshAll(ctx context.Context, services Services) error {
	ctx, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	names, err := k.config.Uses.UsedNames(ctx, fleet.UseReference)
	if err != nil {
		return err
	}
	var failed []error
	away := map[string]bool{}
	for _, name := range names {
		backend, path, _ := strings.Cut(name, ":")
		if away[backend] {
			continue
		}
		hash, err := k.hashOf(ctx, backend, path)
		if err != nil {
			away[backend] = errcode.Is(err, errcode.Unavailable) || ctx.Err() != nil
			k.config.Log.Warn("referred values cannot be read; their services keep the values that they have", "backend", backend, logkey.Error, err)
			continue
		}
		k.mu.Lock()
		same := k.seen[name] == hash
		k.mu.Unlock()
		if same {
			continue
		}
		if err := k.tell(ctx, services, fleet.Use{Kind: fleet.UseReference, Name: name}, "hub", true); err != nil {
			failed = append(failed, err)
			continue
		}
		k.mu.Lock()
		k.seen[name] = hash
		k.mu.Unlock()
	}
	return errors.Join(failed...)
}

// hashOf identifies the state of a path. The hash stays in memory.
func (k *Keeper) hashOf(ctx context.Context, backend, path string) (string, error) {
	p, err := k.referred(ctx, backend)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	values, err := p.Backend.Read(ctx, path)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(values)) {
		for _, text := range []string{key, values[key]} {
			one := sha256.Sum256([]byte(text))
			sum.Write(one[:])
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
