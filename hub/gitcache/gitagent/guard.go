package gitagent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/axle-cd/axle/hub/gitcache/gitexec"
	"github.com/axle-cd/axle/internal/child"
)

// GuardTimeout is how long a guard lets git run without a heartbeat, by a clock
// that counts suspended time. It is well below the time after which a lease
// that was renewed at the same moment can be taken over.
const GuardTimeout = 12 * time.Second

// heartbeatEvery is the time between heartbeats.
const heartbeatEvery = 2 * time.Second

// guardLookEvery is how often a guard reads its clock.
const guardLookEvery = 250 * time.Millisecond

// lockName is a file in each mirror that a guard, and git under it, hold
// locked: the next fetch waits for a fetch that briefly outlived its hub.
const lockName = "axle-fetch.lock"

// filesEnv tells a guard how many descriptors to pass on.
const filesEnv = "AXLE_GUARD_FILES"

// Guard runs git under a small process of this executable, which outlives a
// killed hub just long enough to end git. It is an gitexec.Runner.
type Guard struct {
	// Command starts a process that calls GuardMain with the arguments that are
	// appended to it.
	Command []string
}

// Run runs git and waits for it. Git and all its children are killed when ctx
// ends, when this process ends, or when it hangs for GuardTimeout.
func (g Guard) Run(ctx context.Context, c gitexec.Command) error {
	hear, beat, err := line()
	if err != nil {
		return err
	}
	defer hear.Close()
	defer beat.Close()
	defer c.Conns.Watch(func(fd int) error {
		_, _, err := beat.WriteMsgUnix([]byte{'c'}, unix.UnixRights(fd), nil)
		return err
	})()
	lock := os.DevNull
	if c.Dir != "" {
		lock = filepath.Join(c.Dir, lockName)
	}
	args := append(append(g.Command[1:len(g.Command):len(g.Command)], lock), c.Args...)
	cmd := exec.CommandContext(ctx, g.Command[0], args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout = c.Dir, c.Stdin, c.Stdout
	cmd.Env = append(append(gitexec.Environ(), c.Env...), filesEnv+"="+strconv.Itoa(len(c.Files)))
	cmd.ExtraFiles = append([]*os.File{hear}, c.Files...)
	stop := heartbeats(beat)
	defer stop()
	// The guard ends git when its pipe closes, and then itself.
	return gitexec.FinishWith(ctx, cmd, c.Args, func() error { stop(); return nil })
}

// line returns the two ends of the socket between a hub and its guard. It carries
// a byte for each heartbeat, and copies of connections that end with git.
func line() (hear *os.File, beat *net.UnixConn, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("create the socket to the guard: %w", err)
	}
	hear = os.NewFile(uintptr(fds[0]), "heartbeat")
	end := os.NewFile(uintptr(fds[1]), "heart")
	defer end.Close()
	c, err := net.FileConn(end)
	if err != nil {
		return nil, nil, errors.Join(err, hear.Close())
	}
	return hear, c.(*net.UnixConn), nil
}

// heartbeats writes to the socket until stop, which closes it.
func heartbeats(beat *net.UnixConn) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer beat.Close()
		tick := time.NewTicker(heartbeatEvery)
		defer tick.Stop()
		for {
			// A full socket means that the guard hangs; do not wait for it.
			_ = beat.SetWriteDeadline(time.Now().Add(heartbeatEvery))
			_, _ = beat.Write([]byte{'.'})
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() { cancel(); <-done }
}

// GuardMain is the guard process: it runs git with the arguments after the
// first, which names a file to lock, and returns git's exit status. Descriptor
// 3 is the socket to the hub. A suspended hub keeps its connections to upstream
// open, so the guard closes its copies of them.
func GuardMain(args []string) int {
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	if len(args) < 2 {
		return complain(errors.New("usage: git-guard LOCKFILE GIT-ARGUMENT..., started by the hub only"))
	}
	hub, err := newListener(os.NewFile(3, "heartbeat"))
	if err != nil {
		return complain(err)
	}
	lost := hub.lost
	lock, err := lockFile(args[0], lost)
	if err != nil {
		return complain(err)
	}
	defer lock.Close()
	cmd := exec.Command("git", args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	n, _ := strconv.Atoi(os.Getenv(filesEnv))
	for i := range n {
		cmd.ExtraFiles = append(cmd.ExtraFiles, os.NewFile(uintptr(4+i), "passed"))
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, lock)
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, filesEnv) {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	if err := child.Start(cmd); err != nil {
		return complain(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-ended:
	case why := <-lost:
		_ = child.Kill(cmd)
		hub.hangUp()
		<-ended
		return complain(why)
	}
	// Kill the remaining children of git as well.
	_ = child.Kill(cmd)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		return complain(err)
	}
	return 0
}

func complain(err error) int {
	_, _ = os.Stderr.WriteString("error: git guard: " + err.Error() + "\n")
	return 125
}

// bootTime counts suspended time too, unlike Go's own clock.
func bootTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(ts.Nano())
}

// lockFile waits for the lock that an earlier guard, or its git, may hold.
func lockFile(path string, lost <-chan error) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || path == os.DevNull {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(err, f.Close())
		}
		select {
		case why := <-lost:
			return nil, errors.Join(why, f.Close())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
