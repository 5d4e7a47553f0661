package gitexec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Command is one run of git.
type Command struct {
	Dir    string   // where it runs
	Args   []string // without "git"
	Env    []string // in addition to Environ
	Stdin  io.Reader
	Stdout io.Writer
	// Files become git's descriptors from 3 up. They are closed here as soon as
	// git has them.
	Files []*os.File
	// Conns are connections that this process holds for git and that end with
	// it; may be nil.
	Conns *Conns
}

// Runner runs git. The git agent has one that runs it under a guard.
type Runner interface {
	Run(ctx context.Context, c Command) error
}

// Direct runs git as a plain child, for commands that end by themselves.
type Direct struct{}

// Run runs the command and waits for it. When ctx ends, git and its children
// are killed.
func (Direct) Run(ctx context.Context, c Command) error {
	cmd := exec.CommandContext(ctx, "git", c.Args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.ExtraFiles = c.Dir, append(Environ(), c.Env...), c.Stdin, c.Stdout, c.Files
	return FinishWith(ctx, cmd, c.Args, func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
}

// FinishWith runs a prepared command in its own process group and returns its
// error output. When ctx ends it calls cancel, and kills the command if that
// did not end it within 5 s.
func FinishWith(ctx context.Context, cmd *exec.Cmd, args []string, cancel func() error) error {
	var errs Tail
	cmd.Stderr = &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = cancel
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Start()
	for _, f := range cmd.ExtraFiles {
		_ = f.Close() // git has its own copy
	}
	if err == nil {
		err = cmd.Wait()
	}
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	var exit *exec.ExitError
	if words := errs.String(); words != "" && errors.As(err, &exit) {
		return &Error{Command: verb(args), Words: words, Code: exit.ExitCode()}
	}
	return fmt.Errorf("git %s: %w", verb(args), err)
}

// Error is a failure with git's explanation.
type Error struct {
	Command string
	Words   string // of git, without its prefixes
	Code    int
}

// Error is git's own explanation.
func (e *Error) Error() string { return fmt.Sprintf("git %s: %s", e.Command, e.Words) }

// verb finds the subcommand among git's arguments.
func verb(args []string) string {
	for i := 0; i < len(args); i++ {
		if args[i] == "-c" {
			i++
		} else if !strings.HasPrefix(args[i], "-") {
			return args[i]
		}
	}
	return "command"
}

// Environ returns the only part of this process's environment that git sees.
func Environ() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "XDG_CONFIG_HOME=/nonexistent", "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false",
		"SSH_ASKPASS=/bin/false", "GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0", "GIT_ALLOW_PROTOCOL=none", "GIT_ADVICE=0"}
}

// Tail keeps the end of git's output, which holds the reason.
type Tail struct{ buf []byte }

const tailBytes = 4 << 10

// Write keeps the last few kilobytes.
func (t *Tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*tailBytes {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-tailBytes:]...)
	}
	return len(p), nil
}

// String joins git's lines, without progress, hints and prefixes.
func (t *Tail) String() string {
	var out []string
	for line := range bytes.Lines(t.buf) {
		s := strings.TrimSpace(string(line))
		if i := strings.LastIndexByte(s, '\r'); i >= 0 {
			s = strings.TrimSpace(s[i+1:])
		}
		for _, p := range []string{"fatal: ", "error: ", "remote: ", "warning: "} {
			s = strings.TrimPrefix(s, p)
		}
		if s != "" && !strings.HasPrefix(s, "hint:") {
			out = append(out, s)
		}
	}
	return strings.ToValidUTF8(strings.Join(out, "; "), "?")
}
