package render

import (
	"context"
	"errors"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// errCPU is the cause of a pass's context if its processor time is used up.
var errCPU = errors.New("render processor time")

// soonest is the shortest interval between two checks of a child's processor time.
const soonest = 20 * time.Millisecond

// guard ends a pass whose child uses more processor time than allowed. The processor
// time of a pass depends on its input, but the elapsed time also on the node: a node
// that is short of processors must not make a valid render fail. guard checks at the
// earliest time at which the limit could be reached, so that a pass of milliseconds
// costs no check. It ends with the context.
func (r *Runner) guard(ctx context.Context, c *child, end context.CancelCauseFunc) {
	begun, err := cpuTime(c.cmd.Process.Pid)
	left := r.config.CPU
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case <-c.done:
			return
		case <-time.After(max(soonest, left/time.Duration(runtime.NumCPU()))):
		}
		var now time.Duration
		if now, err = cpuTime(c.cmd.Process.Pid); err != nil {
			return
		}
		if left = r.config.CPU - (now - begun); left <= 0 {
			end(errCPU)
			return
		}
	}
}

// cpuTime is the processor time that a process has used in all its threads.
func cpuTime(pid int) (time.Duration, error) {
	var used unix.Timespec
	// A process's clock id has the inverted process id in the upper bits, and below
	// it which of three clocks is meant; see clock_getcpuclockid(3).
	const scheduled = 2
	err := unix.ClockGettime(int32(^pid)<<3|scheduled, &used)
	return time.Duration(used.Nano()), err
}
