package main

import (
	"fmt"
	"time"
)

// progress prints messages while a long command runs.
type progress struct{ started time.Time }

// say prints one line with the time since the start.
func (s *progress) say(format string, args ...any) {
	fmt.Printf("[%6.1fs] %s\n", time.Since(s.started).Seconds(), fmt.Sprintf(format, args...))
}
