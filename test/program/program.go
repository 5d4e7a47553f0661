// Package program runs the programs that test beds are made of, such as etcd or a
// kubelet: output goes to a log file, readiness is a condition, and an error quotes the
// end of the log. It knows none of them. test/kube, test/node and cmd/dev/suite call it.
//
// A Keeper starts programs for several processes, which use them one after the other: those
// of a run of the suite, or only its own.
//
// Invariants: no program outlives the process that started it, which is the keeper's for
// those that it was asked for, even one ended by SIGKILL; none sees the user's environment
// except PATH.
package program

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/axle-cd/axle/internal/child"
)

// Program is one that was started.
type Program struct {
	name   string
	log    string
	pid    int
	id     int // at its keeper
	signal func(syscall.Signal)
	done   chan struct{} // closed when the program has ended and err is set
	err    error
}

// Start starts a program whose output goes to the log file <name>.log in dir, which it
// makes; name is that of the binary.
func Start(dir, binary string, args []string) (*Program, error) {
	return StartAs(dir, filepath.Base(binary), binary, args)
}

// StartAs is Start for a binary that runs another one, such as nsenter.
func StartAs(dir, name, binary string, args []string) (*Program, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	p := newProgram(dir, name)
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = out, out
	// The programs must not see the user's own configuration. GOGC: an API server takes a seventh
	// less processor time, and up to 130 MB more memory; with 300 it takes little less, and 350 MB.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + os.TempDir(), "GOGC=200"}
	// Its own group: Ctrl-C at a terminal reaches only the parent, which then
	// stops things in order.
	if err := child.Start(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	// What this process waits for has ended or takes the signal.
	p.pid, p.signal = cmd.Process.Pid, func(s syscall.Signal) { _ = cmd.Process.Signal(s) }
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

func newProgram(dir, name string) *Program {
	return &Program{name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
}

// PID is the id of its process.
func (p *Program) PID() int { return p.pid }

// Kill ends the program at once and waits for the end; a nil one has ended.
func (p *Program) Kill() {
	if p == nil {
		return
	}
	p.Signal(syscall.SIGKILL)
	<-p.done
}

// Signal sends a signal, unless the program has ended.
func (p *Program) Signal(sig syscall.Signal) {
	if !p.Ended() {
		p.signal(sig)
	}
}

// Ended says whether the program has ended; a nil one has.
func (p *Program) Ended() bool {
	if p == nil {
		return true
	}
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Freeze stops all threads of the program. The signal alone would let a thread
// that runs on another processor answer one more request.
func (p *Program) Freeze() error {
	p.Signal(syscall.SIGSTOP)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return p.WaitReady(ctx, func(context.Context) error {
		stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.pid))
		if err != nil {
			return err
		}
		for _, file := range stats {
			stat, err := os.ReadFile(file)
			if err == nil && !bytes.Contains(stat, []byte(") T ")) {
				return fmt.Errorf("%s still runs", file)
			}
		}
		return nil
	})
}

// Answers returns a question for WaitReady: whether a URL answers 200.
func Answers(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, resp.Status)
		}
		return nil
	}
}

// WaitReady polls until ready answers nil. It gives up when the program ends
// or the context does, and then quotes the end of the log.
func (p *Program) WaitReady(ctx context.Context, ready func(context.Context) error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		attempt, cancel := context.WithTimeout(ctx, 5*time.Second)
		last = ready(attempt)
		cancel()
		if last == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended while starting: %v; end of %s:\n%s", p.name, p.err, p.log, p.Tail())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w: %v; end of %s:\n%s", p.name, ctx.Err(), last, p.log, p.Tail())
		case <-tick.C:
		}
	}
}

// Tail returns the end of the program's log.
func (p *Program) Tail() string {
	const size = 2048
	f, err := os.Open(p.log)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > size {
		f.Seek(-size, io.SeekEnd)
	}
	text, _ := io.ReadAll(f)
	return string(bytes.TrimSpace(text))
}

// PortTaken says whether the program ended because another one holds its port.
func (p *Program) PortTaken() bool {
	return p.Ended() && bytes.Contains([]byte(p.Tail()), []byte("address already in use"))
}
