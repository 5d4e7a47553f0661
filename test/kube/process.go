package kube

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/axle-cd/axle/internal/child"
)

// process is one program of a control plane.
type process struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{} // closed when the program has ended and err is set
	err  error
}

// startProcess starts a program whose output goes to a log file in dir.
func startProcess(dir, binary string, args []string) (*process, error) {
	name := filepath.Base(binary)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	p := &process{name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p.cmd = exec.Command(binary, args...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	// The programs must not see the user's own configuration.
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + os.TempDir()}
	// Its own group: Ctrl-C at a terminal reaches the parent alone, which then
	// stops things in order.
	if err := child.Start(p.cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// kill ends the program at once and waits for the end.
func (p *process) kill() {
	if p == nil {
		return
	}
	p.signal(syscall.SIGKILL)
	<-p.done
}

func (p *process) signal(sig syscall.Signal) {
	select {
	case <-p.done:
	default:
		p.cmd.Process.Signal(sig)
	}
}

// freeze stops all threads of the program. The signal alone would let a thread
// that runs on another processor answer one more request.
func (p *process) freeze() error {
	p.signal(syscall.SIGSTOP)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return p.waitReady(ctx, func(context.Context) error {
		stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
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

// waitReady polls until ready answers nil. It gives up when the program ends
// or the context does, and then quotes the end of the log.
func (p *process) waitReady(ctx context.Context, ready func(context.Context) error) error {
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
			return fmt.Errorf("%s ended while starting: %v; end of %s:\n%s", p.name, p.err, p.log, p.tail())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w: %v; end of %s:\n%s", p.name, ctx.Err(), last, p.log, p.tail())
		case <-tick.C:
		}
	}
}

// tail returns the end of the program's log.
func (p *process) tail() string {
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

// portTaken says whether the program ended because another one holds its port.
func (p *process) portTaken() bool {
	select {
	case <-p.done:
		return bytes.Contains([]byte(p.tail()), []byte("address already in use"))
	default:
		return false
	}
}
