package rendertest

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Usage is the resource use of a process so far.
type Usage struct {
	// PeakMiB is its peak resident memory, including the program's text.
	PeakMiB float64
	// DataMiB is what the data limit counts, whether used or only mapped; a Go
	// program returns none of it.
	DataMiB float64
	CPU     time.Duration
}

// Usage returns the child's usage.
func (c *Child) Usage() Usage {
	c.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.PID()))
	if err != nil {
		c.t.Fatal(err)
	}
	number := func(field string) float64 {
		_, rest, found := bytes.Cut(status, []byte("\n"+field+":"))
		var kib float64
		if _, err := fmt.Sscan(string(rest), &kib); err != nil || !found {
			c.t.Fatalf("no %s of the child: %v", field, err)
		}
		return kib / 1024
	}
	var used unix.Timespec
	// See clock_getcpuclockid(3).
	if err := unix.ClockGettime(int32(^c.PID())<<3|2, &used); err != nil {
		c.t.Fatal(err)
	}
	return Usage{PeakMiB: number("VmHWM"), DataMiB: number("VmData"), CPU: time.Duration(used.Nano())}
}
