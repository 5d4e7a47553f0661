package kubelet

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

// streams are the ends of an exec or attach; absent ones are nil.
type streams struct {
	in       io.Reader
	out, err io.Writer
	tty      bool
	resize   <-chan remotecommand.TerminalSize
}

// runIn runs a command inside a running container with its environment and
// waits for it. The error tells the exit code.
func (p *pod) runIn(ctx context.Context, r *process, args []string, s streams) error {
	if len(args) == 0 {
		return fmt.Errorf("there is no command to run")
	}
	cmd := enter(r.cmd.Process.Pid, r.user, args)
	if !r.isolated {
		cmd = p.plainExec(r, args)
	}
	cmd.Env = r.env
	cmd.WaitDelay = 2 * time.Second // for children that keep its output open
	if s.tty {
		return p.runTTY(ctx, cmd, s)
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.Stdout, cmd.Stderr = s.out, s.err
	if s.in != nil {
		// Given as cmd.Stdin, an input that never ends would keep Wait waiting.
		stdin, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		go func() {
			io.Copy(stdin, s.in)
			stdin.Close()
		}()
	}
	if err := p.k.cfg.Start(cmd); err != nil {
		return err
	}
	return p.waitExec(ctx, cmd)
}

// waitExec kills the command and its children when the context ends.
func (p *pod) waitExec(ctx context.Context, cmd *exec.Cmd) error {
	stop := context.AfterFunc(ctx, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	err := cmd.Wait()
	stop()
	if state := cmd.ProcessState; state != nil {
		if code := exitCode(state); code != 0 {
			return utilexec.CodeExitError{Err: fmt.Errorf("exit code %d", code), Code: code}
		}
		return nil
	}
	return err
}

// plainExec is for containers without namespaces: their binaries by name, and
// anything else as it is found on this machine.
func (p *pod) plainExec(r *process, args []string) *exec.Cmd {
	program := args[0]
	if path.Base(program) == path.Base(r.cmd.Path) {
		program = r.cmd.Path
	}
	cmd := exec.Command(program, args[1:]...)
	cmd.Dir = r.cmd.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	return cmd
}

// runTTY runs the command on its own terminal.
func (p *pod) runTTY(ctx context.Context, cmd *exec.Cmd, s streams) error {
	master, terminal, err := openTerminal()
	if err != nil {
		return err
	}
	defer master.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true
	err = p.k.cfg.Start(cmd)
	terminal.Close()
	if err != nil {
		return err
	}
	resizing, stopResizing := context.WithCancel(ctx)
	resized := make(chan struct{})
	go func() {
		defer close(resized)
		follow(resizing, master, s.resize)
	}()
	defer func() { // before the terminal is closed
		stopResizing()
		<-resized
	}()
	if s.in != nil {
		go io.Copy(master, s.in)
	}
	printed := make(chan struct{})
	go func() {
		defer close(printed)
		if s.out != nil {
			io.Copy(s.out, master) // ends when the last holder of the terminal does
		}
	}()
	err = p.waitExec(ctx, cmd)
	select {
	case <-printed:
	case <-time.After(2 * time.Second):
	}
	return err
}

func openTerminal() (master, terminal *os.File, err error) {
	if master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		master.Close()
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	return master, terminal, nil
}

// follow gives the terminal the sizes of the client's window.
func follow(ctx context.Context, master *os.File, sizes <-chan remotecommand.TerminalSize) {
	for {
		select {
		case <-ctx.Done():
			return
		case size, ok := <-sizes:
			if !ok {
				return
			}
			unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: size.Height, Col: size.Width})
		}
	}
}

// attach connects the client to a running container: its output from now on, and its
// input if it has one.
func (p *pod) attach(ctx context.Context, r *process, s streams) error {
	if s.in != nil && r.stdin != nil {
		go func() {
			io.Copy(r.stdin, s.in)
			r.stdin.Close()
		}()
	}
	return r.log.read(ctx, r.log.size(), true, func(rec record) error {
		to := s.out
		if rec.stream == "stderr" && !s.tty {
			to = s.err
		}
		if to == nil {
			return nil
		}
		_, err := io.WriteString(to, rec.text+end(rec))
		return err
	})
}

func end(rec record) string {
	if rec.full {
		return "\n"
	}
	return ""
}

// forward carries bytes between the stream and a port of the pod. What listens
// on the machine's loopback alone is tried second.
func (p *pod) forward(ctx context.Context, port int32, stream io.ReadWriteCloser) error {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", fmt.Sprintf("%s:%d", p.ip, port))
	if err != nil {
		var second error
		if conn, second = dialer.DialContext(ctx, "tcp", fmt.Sprintf("%s:%d", hostIP, port)); second != nil {
			return err
		}
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	go func() {
		io.Copy(conn, stream)
		conn.(*net.TCPConn).CloseWrite()
	}()
	_, err = io.Copy(stream, conn)
	return err
}
