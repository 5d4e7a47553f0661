package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/axle-cd/axle/test/procuse"
)

// meter starts processes and measures them and all that they start. Everything below this
// process stays below it: orphans become its children (PR_SET_CHILD_SUBREAPER), which it
// waits for, so that the kernel's sum of its children misses nothing that ended.
type meter struct {
	mu      sync.Mutex
	started map[int]bool // children that somebody waits for already
	seen    *sampler
	counts  string // the file in which tests count
	stop    chan struct{}
	done    chan struct{}
}

// prSetChildSubreaper is of prctl(2).
const prSetChildSubreaper = 36

// every is how often the processes are looked at.
const every = time.Second

func newMeter() (*meter, error) {
	if _, _, errno := syscall.Syscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return nil, errno
	}
	counts, err := os.CreateTemp("", "suite-counts")
	if err != nil {
		return nil, err
	}
	m := &meter{started: map[int]bool{}, seen: newSampler(os.Getpid()), counts: counts.Name(), stop: make(chan struct{}), done: make(chan struct{})}
	go m.watch()
	return m, errors.Join(counts.Close(), os.Setenv("AXLE_SUITE_COUNTS", m.counts))
}

// watch samples, and waits for orphans.
func (m *meter) watch() {
	defer close(m.done)
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	defer signal.Stop(children)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-ticker.C:
			m.seen.sample()
		case <-children:
		}
		m.reap()
	}
}

// reap waits for orphans that ended.
func (m *meter) reap() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, pid := range procuse.Children(os.Getpid()) {
		if !m.started[pid] {
			// It is gone, or it runs: both are right.
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
	}
}

// start starts a command. The function that it returns waits for its end and returns its
// exit code. Signals to end go to the command, which has the last word.
func (m *meter) start(cmd *exec.Cmd) (func() (int, error), error) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	m.mu.Lock()
	err := cmd.Start()
	if err == nil {
		m.started[cmd.Process.Pid] = true
	}
	m.mu.Unlock()
	if err != nil {
		signal.Stop(signals)
		return nil, err
	}
	go func() {
		for s := range signals {
			if s != syscall.SIGINT { // a terminal sends it to all
				_ = cmd.Process.Signal(s)
			}
		}
	}()
	return func() (int, error) {
		m.last(cmd.Process.Pid)
		err := cmd.Wait()
		signal.Stop(signals)
		close(signals)
		m.mu.Lock()
		delete(m.started, cmd.Process.Pid)
		m.mu.Unlock()
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			return max(failed.ExitCode(), 1), nil
		}
		return 0, err
	}, nil
}

// last waits until a child ended and looks at it before it is waited for: its sums are
// final then.
func (m *meter) last(pid int) {
	const (
		pPID    = 1
		wNoWait = 0x01000000
	)
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pPID, uintptr(pid), 0, syscall.WEXITED|wNoWait, 0, 0)
		if errno != syscall.EINTR {
			break // an error leaves it unseen, which the table says
		}
	}
	m.seen.sample()
}

// end stops measuring and returns the processor time of everything below, and what of it
// runs on.
func (m *meter) end() (time.Duration, error) {
	close(m.stop)
	<-m.done
	m.seen.sample()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &usage); err != nil {
		return 0, err
	}
	return time.Duration(usage.Utime.Nano()+usage.Stime.Nano()) + m.seen.running(), nil
}
