package bench

import (
	"encoding/json"
	"fmt"
	"time"
)

// progress is what a long command says while it runs.
type progress struct{ started time.Time }

// say prints one line with the time since its start.
func (s *progress) say(format string, args ...any) {
	fmt.Printf("[%6.1fs] %s\n", time.Since(s.started).Seconds(), fmt.Sprintf(format, args...))
}

// lastLine ends the output of a measurement with what programs read: one JSON
// object in one line.
func lastLine(found any) error {
	line, err := json.Marshal(found)
	if err != nil {
		return err
	}
	fmt.Println(string(line))
	return nil
}
