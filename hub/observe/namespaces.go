package observe

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/telemetry"
)

const (
	// seenFor is how long the namespaces that a person sees are remembered, foundFor the stores
	// of a cluster, and maxRemembered how many of each.
	seenFor, foundFor = 30 * time.Second, 30 * time.Second
	maxRemembered     = 5000
	// lookWithin bounds a look, which goes on for others when the first who asked is gone.
	lookWithin = 25 * time.Second
)

// cache remembers values for a while. It holds at most maxRemembered.
type cache[T any] struct {
	clock clock.Clock
	keep  time.Duration

	mu  sync.Mutex
	all map[string]remembered[T]
}

type remembered[T any] struct {
	value T
	until time.Time
}

func newCache[T any](c clock.Clock, keep time.Duration) *cache[T] {
	return &cache[T]{clock: c, keep: keep, all: map[string]remembered[T]{}}
}

func (c *cache[T]) get(key string) (value T, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, known := c.all[key]
	if known && !c.clock.Now().Before(r.until) {
		delete(c.all, key)
		known = false
	}
	if !known {
		return value, false
	}
	return r.value, true
}

func (c *cache[T]) put(key string, value T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other := range c.all {
		if len(c.all) < maxRemembered {
			break
		}
		delete(c.all, other) // it is looked up again
	}
	c.all[key] = remembered[T]{value, c.clock.Now().Add(c.keep)}
}

// identity is what the answer about a caller's namespaces depends on.
func (c Caller) identity() string {
	p := c.Principal
	parts := append([]string{string(p.Kind), p.ID, p.Name, p.Project, strconv.FormatBool(p.Admin), strings.Join(p.Scopes, ",")}, p.Groups...)
	return strings.Join(parts, "\x00")
}

// Namespaces returns those whose data the caller sees: those in which the cluster lets them
// read the logs of pods. Unavailable while the cluster has no tunnel.
func (o *Observer) Namespaces(ctx context.Context, by Caller, c Cluster) (Namespaces, error) {
	key := c.ID + "\x00" + by.identity()
	if !o.config.Agents.Up(c.ID) {
		return Namespaces{}, errcode.New(errcode.Unavailable, "cluster %s has no tunnel to this hub now, so nobody can see which namespaces you may read; see that its agent runs: axle clusters get %s", c.Name, c.Name)
	}
	if have, known := o.seen.get(key); known {
		return have, nil
	}
	place, err := o.looks.Wait(ctx, by.Principal.Sharing())
	if err != nil {
		return Namespaces{}, err
	}
	defer place.Leave()
	return once(ctx, o, "seen "+key, func(ctx context.Context) (Namespaces, error) {
		have, err := o.config.Agents.Namespaces(ctx, by, c)
		if err == nil {
			o.seen.put(key, have)
		}
		return have, err
	})
}

// services are the stores that the agent of a cluster finds.
func (o *Observer) services(ctx context.Context, by Caller, c Cluster) ([]telemetry.Service, error) {
	if have, known := o.found.get(c.ID); known {
		return have, nil
	}
	// They are the same for everybody, and a caller whom the agent lets ask nothing has been
	// refused before, with the namespaces.
	return once(ctx, o, "found "+c.ID, func(ctx context.Context) ([]telemetry.Service, error) {
		have, err := o.config.Agents.Services(ctx, by, c)
		if err == nil {
			o.found.put(c.ID, have)
		}
		return have, err
	})
}

// once does something for all who ask for it at the same time.
func once[T any](ctx context.Context, o *Observer, key string, do func(context.Context) (T, error)) (T, error) {
	result := o.looking.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookWithin)
		defer cancel()
		return do(ctx)
	})
	select {
	case r := <-result:
		value, _ := r.Val.(T)
		return value, r.Err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
