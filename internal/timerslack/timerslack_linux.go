package timerslack

import (
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Variable is set in the environment of a program that was executed again. A program
// that finds it does nothing, whoever set it.
const Variable = "AXLE_TIMER_SLACK"

// slack is how late a timer may be. A goroutine in a system call also keeps its slot
// among the running ones up to that much longer.
const slack = time.Millisecond

// Widen returns in a process whose timer slack is set, or cannot be set. Call it
// before anything else: the process restarts from the beginning of main.
func Widen() {
	if os.Getenv(Variable) != "" {
		return
	}
	// The thread that executes becomes the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if now, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); err != nil || now >= int(slack) {
		return
	}
	program, err := os.Executable()
	if err != nil || unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0) != nil {
		return
	}
	// It returns only on an error, and then this process continues.
	_ = syscall.Exec(program, os.Args, append(os.Environ(), Variable+"="+slack.String()))
}
