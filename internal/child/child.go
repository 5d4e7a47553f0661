// Package child starts processes that never outlive this one, even if this one is
// ended by SIGKILL. It adds nothing else to os/exec.
//
// The kernel sends the parent-death signal at the end of the thread that forked, not
// of the process, so a child started on any goroutine could be killed whenever the Go
// scheduler ends a thread. Here one thread that never ends forks all children.
package child

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

var starts = sync.OnceValue(func() chan func() {
	queue := make(chan func())
	go func() {
		runtime.LockOSThread()
		for start := range queue {
			start()
		}
	}()
	return queue
})

// Start is command.Start for a process in a new group, which the kernel ends together
// with this process. The signal is SIGKILL unless SysProcAttr names another.
func Start(command *exec.Cmd) error {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	// A session leader already leads a group, and may not create one.
	command.SysProcAttr.Setpgid = !command.SysProcAttr.Setsid
	if command.SysProcAttr.Pdeathsig == 0 {
		command.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	done := make(chan error, 1)
	starts() <- func() { done <- command.Start() }
	return <-done
}

// Kill ends the process's whole group at once. It does not wait.
func Kill(command *exec.Cmd) error { return signal(command, syscall.SIGKILL) }

// Signal sends a signal to the process's whole group.
func Signal(command *exec.Cmd, s syscall.Signal) error { return signal(command, s) }

func signal(command *exec.Cmd, s syscall.Signal) error {
	if command.Process == nil {
		return nil
	}
	if err := syscall.Kill(-command.Process.Pid, s); err != nil && err != syscall.ESRCH {
		return err
	}
	return nil
}
