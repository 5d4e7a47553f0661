package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// process is one start of a container.
type process struct {
	cmd      *exec.Cmd
	env      []string
	isolated bool
	user     identity
	log      *logFile
	stdin    io.WriteCloser // nil unless the container asked for it
	started  time.Time
	done     chan struct{} // closed once it has ended and its log is whole
	code     int
}

// start makes the container's root and starts its program. The run's number
// names its folder and log.
func (p *pod) start(ctx context.Context, c *corev1.Container, run int32) (*process, error) {
	img, err := p.k.resolve(c.Image)
	if err != nil {
		return nil, &waitError{reason: "ErrImagePull", err: err}
	}
	vars, err := p.environment(ctx, c)
	if err != nil {
		return nil, &waitError{reason: "CreateContainerConfigError", err: err}
	}
	mounts, err := p.mounts(c, img)
	if err != nil {
		return nil, &waitError{reason: "CreateContainerConfigError", err: err}
	}
	env := p.variables(c, vars)
	args := img.command(expandAll(c.Command, vars), expandAll(c.Args, vars))
	r := &process{isolated: p.k.isolated, user: p.identity(c), env: env, done: make(chan struct{})}
	if r.log, err = newLogFile(filepath.Join(p.dir, "logs", fmt.Sprintf("%s.%d", c.Name, run))); err != nil {
		return nil, err
	}
	if r.isolated {
		dir := filepath.Join(p.dir, "roots", fmt.Sprintf("%s.%d", c.Name, run))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		readOnly := c.SecurityContext != nil && isTrue(c.SecurityContext.ReadOnlyRootFilesystem)
		r.cmd = sandbox{dir: dir, hostname: p.object.Name, workdir: c.WorkingDir, readOnly: readOnly, user: r.user, mounts: mounts}.command(args)
	} else {
		r.cmd, r.env = p.plainCommand(img, mounts, c.WorkingDir, args, env)
	}
	r.cmd.Env = r.env
	if err := r.launch(p.k.cfg.Start, c.Stdin); err != nil {
		r.log.end()
		return nil, &waitError{reason: "RunContainerError", err: err}
	}
	return r, nil
}

// waitError says in which state a container waits that could not be started.
type waitError struct {
	reason string
	err    error
}

func (e *waitError) Error() string { return e.err.Error() }
func (e *waitError) Unwrap() error { return e.err }

// launch connects the program's streams, starts it and waits until its root is
// made.
func (r *process) launch(start func(*exec.Cmd) error, stdin bool) error {
	var ours, theirs []*os.File
	pipe := func() (read, write *os.File, err error) {
		if read, write, err = os.Pipe(); err == nil {
			ours, theirs = append(ours, read), append(theirs, write)
		}
		return read, write, err
	}
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
	}()
	stdout, childOut, err := pipe()
	if err != nil {
		return err
	}
	stderr, childErr, err := pipe()
	if err != nil {
		return err
	}
	ready, childReady, err := pipe()
	if err != nil {
		return err
	}
	r.cmd.Stdout, r.cmd.Stderr = childOut, childErr
	if r.isolated {
		r.cmd.ExtraFiles = []*os.File{childReady}
	}
	if stdin {
		if r.stdin, err = r.cmd.StdinPipe(); err != nil {
			return err
		}
	}
	if err := start(r.cmd); err != nil {
		for _, f := range ours {
			f.Close()
		}
		return err
	}
	r.started = time.Now()
	for _, f := range theirs {
		f.Close()
	}
	go r.wait(stdout, stderr)
	defer ready.Close()
	if word := make([]byte, 1); r.isolated {
		if _, err := ready.Read(word); err != nil {
			<-r.done
			return errors.New("make the container's root: " + r.lastWords())
		}
	}
	return nil
}

// wait collects the output and the exit code.
func (r *process) wait(stdout, stderr *os.File) {
	defer close(r.done)
	var copies sync.WaitGroup
	copies.Go(func() { r.log.copy("stdout", stdout) })
	copies.Go(func() { r.log.copy("stderr", stderr) })
	r.cmd.Wait()
	// With the first process of the namespace all others end, and so do the
	// pipes. A plain process may leave children that hold them.
	if !r.isolated {
		r.signal(syscall.SIGKILL)
	}
	copies.Wait()
	stdout.Close()
	stderr.Close()
	r.log.end()
	r.code = exitCode(r.cmd.ProcessState)
}

// exitCode is 128 + the signal for a program that was killed, as in a shell.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// signal reaches the container's first process, or the plain process's group.
func (r *process) signal(sig syscall.Signal) {
	if r.isolated {
		r.cmd.Process.Signal(sig)
		return
	}
	syscall.Kill(-r.cmd.Process.Pid, sig)
}

// lastWords is the end of the log on one line.
func (r *process) lastWords() string {
	offset, err := r.log.tailOffset(3)
	if err != nil {
		return err.Error()
	}
	text := ""
	r.log.read(context.Background(), offset, false, func(rec record) error {
		text += rec.text + " "
		return nil
	})
	return text
}

// expandAll replaces references to variables in a command line.
func expandAll(args []string, vars map[string]string) []string {
	var out []string
	for _, arg := range args {
		out = append(out, expand(arg, vars))
	}
	return out
}
