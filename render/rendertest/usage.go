package rendertest

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
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

// Usage returns the child's usage. A child that has reached its age during a pass ends
// behind it: of that one it is what its parent was told, without the data.
func (c *Child) Usage() Usage {
	c.t.Helper()
	if used, alive := c.now(); alive {
		return used
	}
	select {
	case <-c.ended:
		used, _ := c.command.ProcessState.SysUsage().(*syscall.Rusage)
		return Usage{PeakMiB: float64(used.Maxrss) / 1024, CPU: time.Duration(used.Utime.Nano() + used.Stime.Nano())}
	case <-time.After(patience):
		c.t.Fatal("the child neither runs nor ends")
		return Usage{}
	}
}

// now reads the usage of a running child; a process that ends has no memory any more, and
// soon no folder.
func (c *Child) now() (u Usage, alive bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.PID()))
	if err != nil {
		return u, false
	}
	number := func(field string) (mib float64) {
		_, rest, found := bytes.Cut(status, []byte("\n"+field+":"))
		var kib float64
		_, err := fmt.Sscan(string(rest), &kib)
		alive = alive && found && err == nil
		return kib / 1024
	}
	alive = true
	u = Usage{PeakMiB: number("VmHWM"), DataMiB: number("VmData")}
	var used unix.Timespec
	// See clock_getcpuclockid(3).
	if err := unix.ClockGettime(int32(^c.PID())<<3|2, &used); err != nil {
		return u, false
	}
	u.CPU = time.Duration(used.Nano())
	return u, alive
}
