// Package gctuning collects a program's garbage earlier than Go does by default:
// a program that holds much and allocates little would else hold the same again
// in garbage all day. The hub and the agent call it once, at their start; their short
// commands collect later instead, and so do test binaries with a Postgres (test/pg).
//
// It sets GOGC's percentage, and once a busy time is over it gives back what
// that left: Go collects by allocation, so that an agent which installed 100
// services and then sleeps would keep 6 MiB of their garbage. It sets no limit
// of memory, whose approach would cost CPU without a bound. Invariants: at most
// 96 MiB wait for a collection, or 15 percent of what is held when that is more;
// at most one collection beside Go's own for each busy time.
package gctuning

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
	// calm is how much a program allocates between two looks that does little, in
	// bytes: a hub that answers 1,100 agents does 500 KiB.
	calm = 1 << 20
	// calmLooks is how many such looks end a busy time.
	calmLooks = 6
	// worthwhile is what must come back for it, in bytes; what is held divided by
	// worthwhileShare when that is more.
	worthwhile      = 2 << 20
	worthwhileShare = 16
)

// briefly is how much the heap of a command may grow between two collections, in percent of
// what is held: it ends before most of its garbage matters.
const briefly = 400

// Brief collects later than Go's default, unless GOGC says otherwise, for a command that ends
// soon. It has Start's form.
func Brief(context.Context) (wait func()) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(briefly)
	}
	return func() {}
}

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
		at, r := collectAt, rest{}
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			now := look()
			// Each change stops the program for a moment.
			if next := pace(now.held); next != at {
				debug.SetGCPercent(next)
				at = next
			}
			if r.ends(now) {
				debug.FreeOSMemory()
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

// usage is a look at the program's memory, in bytes.
type usage struct {
	held      uint64 // what the percentage is of: what the last collection left, the stacks and the globals
	kept      uint64 // of the heap, by the process: what is held, garbage and room
	live      uint64 // of kept, what the last collection left
	allocated uint64 // since the program's start
}

// look reads the program's usage.
func look() (u usage) {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
		{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(samples)
	read := func(from, to int) (sum uint64) {
		for _, s := range samples[from:to] {
			if s.Value.Kind() == metrics.KindUint64 {
				sum += s.Value.Uint64()
			}
		}
		return sum
	}
	return usage{held: read(0, 3), live: read(0, 1), kept: read(3, 6), allocated: read(6, 7)}
}

// rest sees busy times end. Its zero value is the start of one.
type rest struct {
	allocated uint64 // at the last look
	looks     int    // calm ones in a row
}

// ends says once of each busy time that it is over and that it left something
// to be given back.
func (r *rest) ends(now usage) bool {
	busy := now.allocated-r.allocated > calm
	r.allocated = now.allocated
	if busy {
		r.looks = 0
		return false
	}
	r.looks++
	return r.looks == calmLooks && now.kept > now.live+max(worthwhile, now.live/worthwhileShare)
}
