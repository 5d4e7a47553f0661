package render

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// stderrBytes is how much of a child's error output is kept, stderrHead of it from
// the beginning.
const (
	stderrBytes = 4 << 10
	stderrHead  = 1 << 10
)

// child is one running axle-render.
type child struct {
	project string
	// rare: it is the program with all renderers.
	rare   bool
	born   time.Time
	passes int

	cmd    *exec.Cmd
	in     *os.File
	out    *os.File
	writer *bufio.Writer
	reader *bufio.Reader
	stderr *words

	// done is closed after the process has ended; state is set before.
	done  chan struct{}
	state *os.ProcessState
	once  sync.Once
}

// start runs the program in its own process group. It dies with the agent: the kernel
// kills it when the thread that started it ends, so that thread is kept while the
// child lives. A child has its priority from that thread, which is lowered by nice before: of
// a child that runs already, a thread that it just begins would keep the one of before.
func start(binary, project string, nice int) (*child, error) {
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		inRead.Close()
		inWrite.Close()
		return nil, err
	}
	c := &child{
		project: project, born: time.Now(), in: inWrite, out: outRead,
		writer: bufio.NewWriterSize(inWrite, 64<<10), reader: bufio.NewReaderSize(outRead, 64<<10),
		stderr: &words{}, done: make(chan struct{}),
	}
	c.cmd = &exec.Cmd{
		Path: binary, Args: []string{"axle-render"}, Env: []string{}, Dir: "/",
		Stdin: inRead, Stdout: outWrite, Stderr: c.stderr,
		// Another holder of stderr must not keep Wait from returning.
		WaitDelay:   time.Second,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if nice == 0 {
			defer runtime.UnlockOSThread()
		} else {
			// A thread whose priority was lowered ends with this function. Where that is not
			// allowed, the child runs like any process. The kernel counts from 20 down.
			if up, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0); err == nil {
				_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, min(20-up+nice, 19))
			}
		}
		err := c.cmd.Start()
		inRead.Close()
		outWrite.Close()
		started <- err
		if err != nil {
			return
		}
		// state has the exit code; Wait's error adds nothing.
		_ = c.cmd.Wait()
		c.state = c.cmd.ProcessState
		close(c.done)
	}()
	if err := <-started; err != nil {
		inWrite.Close()
		outRead.Close()
		return nil, err
	}
	return c, nil
}

// interrupt kills the process group; readers and writers of the child then get an
// error from its pipe.
func (c *child) interrupt() {
	select {
	case <-c.done:
	default:
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
	}
}

// settle gives a child with a broken pipe a moment to end by itself, so that its exit
// code and error output are its own and not those of a kill.
func (c *child) settle(err error) {
	var pipe *pipeError
	if !errors.As(err, &pipe) {
		return
	}
	select {
	case <-c.done:
	case <-time.After(2 * time.Second):
	}
}

// close ends the child and waits until it is gone.
func (c *child) close() {
	c.once.Do(func() {
		c.interrupt()
		<-c.done
		c.in.Close()
		c.out.Close()
	})
}

// ended says how the process ended and returns its error output.
func (c *child) ended() (how, lastWords string) {
	<-c.done
	return fmt.Sprint(c.state), c.stderr.String()
}

// words keeps the beginning and the end of what is written to it: a crash of the Go
// runtime prints its reason first, followed by long traces.
type words struct {
	mu         sync.Mutex
	head, tail []byte
	cut        bool
}

// Write keeps what fits, and always accepts everything.
func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	size := len(p)
	n := min(len(p), stderrHead-len(w.head))
	w.head = append(w.head, p[:n]...)
	w.tail = append(w.tail, p[n:]...)
	if extra := len(w.tail) - (stderrBytes - stderrHead); extra > 0 {
		w.tail = append(w.tail[:0], w.tail[extra:]...)
		w.cut = true
	}
	return size, nil
}

// String returns what was kept.
func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	between := ""
	if w.cut {
		between = " [...] "
	}
	return string(w.head) + between + string(w.tail)
}
