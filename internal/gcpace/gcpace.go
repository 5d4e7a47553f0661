// Package gcpace collects a program's garbage earlier than Go does by default:
// a program that holds much and allocates little would else hold the same again
// in garbage all day. The hub and the agent call it once, at their start.
//
// It sets GOGC's percentage and nothing else: no limit of memory, whose approach
// would cost CPU without a bound. Invariant: at most 96 MiB wait for a
// collection, or 15 percent of what is held when that is more.
package gcpace

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// collectAt is how much the heap may grow between two collections, in percent
	// of what is held. A hub holds the state of many connections, an agent that of
	// many objects, and both allocate little, so an early collection costs next to
	// nothing and saves a quarter of the memory.
	collectAt = 50
	// garbage is how much may wait for a collection, in bytes, when that is less:
	// 5,000 clusters with tunnels hold 300 MB and more, half of which again
	// would lie there unused all day.
	garbage = 96 << 20
	// littleGarbage may wait at any rate, up to a heap twice as large as what is
	// held: a small hub that carries requests collected four times a second and
	// more, for 7 % of its CPU, over 8 MiB.
	littleGarbage = 16 << 20
	mostCollectAt = 100
	// leastCollectAt bounds how often a very large heap is walked.
	leastCollectAt = 15
	// paceEvery is how often the percentage follows what is held.
	paceEvery = 5 * time.Second
)

// Start collects earlier than Go's default until the context ends, unless
// GOGC says otherwise. The function that it returns waits for its end.
func Start(ctx context.Context) (wait func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	debug.SetGCPercent(collectAt)
	var pacing sync.WaitGroup
	pacing.Go(func() {
		tick := time.NewTicker(paceEvery)
		defer tick.Stop()
		for at := collectAt; ; {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			// Each change stops the program for a moment.
			if next := pace(held()); next != at {
				debug.SetGCPercent(next)
				at = next
			}
		}
	})
	return pacing.Wait
}

// pace is the percentage for so many bytes held, in steps of 5.
func pace(held uint64) int {
	within := func(bytes uint64) int { return int(bytes*20/max(held, 1)) * 5 }
	return max(leastCollectAt, min(collectAt, within(garbage)), min(mostCollectAt, within(littleGarbage)))
}

// held is what the percentage is of: what the last collection left, the stacks
// and the globals.
func held() (sum uint64) {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			sum += s.Value.Uint64()
		}
	}
	return sum
}
