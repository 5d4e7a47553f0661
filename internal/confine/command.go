package confine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Limits for all processes of a tool together; the kernel enforces those of each.
const (
	maxMemory    = 512 << 20
	maxProcesses = 64
	maxDisk      = 256 << 20
	watchEvery   = 100 * time.Millisecond
	// maxWords is how much of a tool's standard error is kept, in bytes.
	maxWords = 4 << 10
)

// Command is one run of a tool.
type Command struct {
	// Launcher is a program that calls Launch if its first argument is LaunchWord.
	Launcher string
	// Argv is the tool's command line; its first word is an absolute path.
	Argv []string
	// Own is the tool's private folder, an absolute path. The tool can write nowhere
	// else.
	Own string
	// Dir is its working folder, inside Own.
	Dir string
	// Env is its whole environment.
	Env []string
	// Input is its standard input.
	Input []byte
	// MaxOutput bounds its standard output in bytes.
	MaxOutput int
}

// Run runs the tool until it ends, exceeds a limit, or the context ends, and then
// kills the rest of its process group. An error says how it ended; words is its
// standard error.
func (c Command) Run(ctx context.Context) (output []byte, words string, err error) {
	out, said := &limited{limit: c.MaxOutput}, &limited{limit: maxWords}
	cmd := &exec.Cmd{
		Path: c.Launcher, Args: append([]string{"axle-tool", LaunchWord, c.Own}, c.Argv...),
		Dir: c.Dir, Env: append([]string{}, c.Env...), Stdin: bytes.NewReader(c.Input), Stdout: out, Stderr: said,
		// Another holder of a pipe must not keep Wait from returning.
		WaitDelay:   time.Second,
		SysProcAttr: attributes(),
	}
	started, ended := make(chan error, 1), make(chan struct{})
	var result error
	go func() {
		// The kernel kills the tool when the thread that started it ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(ended)
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		// Until the leader is waited for, its process id cannot be reused, and so
		// names its group.
		awaitExit(cmd.Process.Pid)
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		result = cmd.Wait()
	}()
	if err := <-started; err != nil {
		return nil, "", fmt.Errorf("start the tool: %w", err)
	}
	stopped := c.watch(ctx, cmd.Process.Pid, out, ended)
	<-ended
	words = strings.TrimSpace(said.String())
	switch {
	case ctx.Err() != nil:
		return nil, words, ctx.Err()
	case stopped != nil:
		return nil, words, stopped
	case out.over():
		return nil, words, out.exceeded()
	case result != nil:
		return nil, words, fmt.Errorf("it ended with %w", result)
	}
	return out.Bytes(), words, nil
}

// watch kills the group when it exceeds a limit, and returns the reason.
func (c Command) watch(ctx context.Context, group int, out *limited, ended <-chan struct{}) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for n := 0; ; n++ {
		var why error
		select {
		case <-ended:
			return nil
		case <-ctx.Done():
			why = ctx.Err()
		case <-tick.C:
			why = c.exceeds(group, n, out)
		}
		if why != nil {
			select {
			case <-ended:
			default:
				_ = syscall.Kill(-group, syscall.SIGKILL)
			}
			return why
		}
	}
}

// exceeds says which limit a group exceeds.
func (c Command) exceeds(group, n int, out *limited) error {
	processes, memory := usage(group)
	switch {
	case out.over():
		return out.exceeded()
	case memory > maxMemory:
		return fmt.Errorf("it used more than %d MiB of memory and was stopped", maxMemory>>20)
	case processes > maxProcesses:
		return fmt.Errorf("it ran more than %d processes and was stopped", maxProcesses)
	case n%10 == 9 && diskUsage(c.Own, maxDisk) > maxDisk:
		return fmt.Errorf("it wrote more than %d MiB and was stopped", maxDisk>>20)
	}
	return nil
}

// limited keeps the first bytes that are written and accepts everything.
type limited struct {
	mu    sync.Mutex
	kept  []byte
	limit int
	total int
}

// Write keeps what fits.
func (l *limited) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total += len(p)
	if room := l.limit - len(l.kept); room > 0 {
		l.kept = append(l.kept, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

// Bytes returns what was kept.
func (l *limited) Bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept
}

// String returns what was kept, as text.
func (l *limited) String() string { return string(l.Bytes()) }

func (l *limited) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total > l.limit
}

func (l *limited) exceeded() error {
	return errors.New("it printed more than " + fmt.Sprint(l.limit) + " bytes and was stopped")
}
