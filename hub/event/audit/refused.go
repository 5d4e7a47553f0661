package audit

import (
	"context"
	"strconv"
	"time"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
)

// ActionRefused is the action of the record that says how many requests of strangers were
// refused and have no record of their own.
const ActionRefused = "audit.refused"

// countPause is the time between two such records.
const countPause = time.Minute

// newRefusals returns the pool of records of strangers, whose requests anybody can make.
func newRefusals(pools *pool.Set, c clock.Clock) *pool.Rates {
	return pools.Rates(pool.RateSpec{
		Name: "strangers_records", Of: "refused requests", Clock: c,
		Caller: pool.Rate{Burst: 50, Every: time.Second}, Project: pool.Rate{Burst: 100, Every: time.Second / 2}, All: pool.Rate{Burst: 200, Every: time.Second / 5},
	})
}

// Refused accepts the record of a request of somebody who is not known, and reports whether it
// is kept: beyond a share of the network that it came from it is only counted.
func (l *Log) Refused(ctx context.Context, remote string, r Record) bool {
	if l.refusals.Take(pool.Stranger(remote)) == nil {
		l.Add(ctx, r)
		return true
	}
	l.mu.Lock()
	l.uncounted++
	l.mu.Unlock()
	return false
}

// count records how many were refused since the last time, if any.
func (l *Log) count(ctx context.Context) error {
	l.mu.Lock()
	n := l.uncounted
	l.uncounted = 0
	l.mu.Unlock()
	if n > 0 {
		l.Add(ctx, Record{
			Actor: "hub", ActorKind: "hub", Action: ActionRefused, Result: string(errcode.Exhausted),
			Detail: map[string]string{"refused": strconv.FormatInt(n, 10)},
		})
	}
	return nil
}
