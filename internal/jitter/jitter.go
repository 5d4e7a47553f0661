// Package jitter randomises every delay of the product, so that clients that failed
// together do not return together. It keeps no clock and starts no timer; callers
// wait by themselves.
package jitter

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// Full returns a random delay in [0, d). Zero or less gives zero.
func Full(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return rand.N(d)
}

// Add returns base plus a random part in [0, spread).
func Add(base, spread time.Duration) time.Duration { return base + Full(spread) }

// Around returns a random delay in [d-spread, d+spread).
func Around(d, spread time.Duration) time.Duration { return d - spread + Full(2*spread) }

// Backoff gives delays that double from Min to Max with full jitter, so that
// the n-th retry waits a random time in [0, min(Max, Min*2^n)). The zero value
// is not useful; Min and Max must be positive.
type Backoff struct {
	// Min bounds the first delay.
	Min time.Duration
	// Max bounds every delay.
	Max     time.Duration
	attempt int
}

// Next returns the next delay.
func (b *Backoff) Next() time.Duration {
	limit := b.Max
	if b.attempt < 32 {
		if l := b.Min << b.attempt; l > 0 && l < limit {
			limit = l
		}
	}
	b.attempt++
	return Full(limit)
}

// Attempts returns how many delays Next returned since the last Reset.
func (b *Backoff) Attempts() int { return b.attempt }

// Reset starts again at Min, after a success.
func (b *Backoff) Reset() { b.attempt = 0 }

// Wait blocks for d or until the context ends, whose error it returns.
func Wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Spread maps a key to a fixed point of [0, period), equal in every process, so that
// work that happens once per period is spread over it by key.
func Spread(key string, period time.Duration) time.Duration {
	if period <= 0 {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(key))
	return time.Duration(h.Sum64() % uint64(period))
}
