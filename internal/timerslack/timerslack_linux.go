package timerslack

import (
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Variable is set in the environment of a program that was executed again. A
// program that finds it leaves everything as it is, whoever set it.
const Variable = "AXLE_TIMER_SLACK"

// slack is how late a timer may be. A goroutine that waits in a system call
// also holds its place among those that run up to that much longer.
const slack = time.Millisecond

// Widen returns in a program whose timers may be late, or cannot. It is to be
// called before anything else is begun: the process goes on from the beginning
// of main.
func Widen() {
	if os.Getenv(Variable) != "" {
		return
	}
	// The thread that executes is the one that lives on.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if now, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); err != nil || now >= int(slack) {
		return
	}
	program, err := os.Executable()
	if err != nil || unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0) != nil {
		return
	}
	// Only an error returns, and then this process does its work itself.
	_ = syscall.Exec(program, os.Args, append(os.Environ(), Variable+"="+slack.String()))
}
