package main

import (
	"fmt"
	"time"
)

// progress is what a long command says while it runs.
type progress struct{ started time.Time }

// say prints one line with the time since its start.
func (s *progress) say(format string, args ...any) {
	fmt.Printf("[%6.1fs] %s\n", time.Since(s.started).Seconds(), fmt.Sprintf(format, args...))
}
