package main

import (
	"os"
	"runtime/debug"
)

// collectAt is how much the heap may grow between two collections, in percent.
// A hub holds the state of many connections and allocates little, so an early
// collection costs it next to nothing and saves a quarter of its memory.
const collectAt = 50

// thrifty collects earlier than Go's default, unless GOGC says otherwise.
func thrifty() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
}
