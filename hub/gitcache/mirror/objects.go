package mirror

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/axle-cd/axle/hub/gitcache/gitexec"
	"github.com/axle-cd/axle/internal/gitobject"
	"github.com/axle-cd/axle/internal/pool"
)

// idleAfter is when an idle process is ended.
const idleAfter = 30 * time.Second

// readersWithin is how long somebody waits for a process.
const readersWithin = time.Hour

// maxInMemory limits an object that is read into memory: trees, commits and the
// files that refer to other files.
const maxInMemory = 16 << 20

// objects reads the objects of one mirror through `git cat-file` processes. The
// number of processes is limited over all mirrors.
type objects struct {
	mirror *Mirror
	places *pool.Places
	mu     sync.Mutex
	idle   []*reader
	// tidy ends idle processes of a mirror without readers; each holds 2 MiB,
	// and there are many mirrors.
	tidy *time.Timer
}

// pipeBytes is how far git may be ahead of its reader.
const pipeBytes = 1 << 20

// errMissing means that the mirror does not have an object.
var errMissing = errors.New("object is missing")

// reader is one process. One caller at a time uses it.
type reader struct {
	cmd    *exec.Cmd
	held   *pool.Held
	in     io.WriteCloser
	out    *bufio.Reader
	format string // of ids
	used   time.Time
	// bad is set while an answer has not been read to its end: the next caller
	// would read its bytes.
	bad bool
}

// borrow takes an idle process or starts one. giveBack must follow.
func (o *objects) borrow(ctx context.Context) (*reader, error) {
	held, err := o.places.Wait(ctx, pool.Of(ctx))
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	if n := len(o.idle); n > 0 {
		r := o.idle[n-1]
		o.idle, r.held = o.idle[:n-1], held
		o.mu.Unlock()
		return r, nil
	}
	o.mu.Unlock()
	r, err := o.start()
	if err != nil {
		held.Leave()
		return nil, err
	}
	r.held = held
	return r, nil
}

func (o *objects) start() (*reader, error) {
	cmd := exec.Command("git", "--git-dir=.", "cat-file", "--batch-command", "--buffer")
	cmd.Dir, cmd.Env = o.mirror.dir, gitexec.Environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if f, ok := out.(*os.File); ok {
		// A larger pipe means fewer switches between the two processes; where
		// it is not allowed, the default works.
		if raw, err := f.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeBytes) })
		}
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start git cat-file: %w", err)
	}
	return &reader{cmd: cmd, format: o.mirror.format, in: in, out: bufio.NewReaderSize(out, pipeBytes)}, nil
}

func (o *objects) giveBack(r *reader) {
	defer r.held.Leave()
	if r.bad {
		r.end()
		return
	}
	r.used = time.Now()
	o.mu.Lock()
	o.idle = append(o.idle, r)
	o.sweepLater()
	o.mu.Unlock()
}

// sweepLater schedules the end of idle processes. The caller holds the lock.
func (o *objects) sweepLater() {
	if o.tidy == nil {
		o.tidy = time.AfterFunc(idleAfter, o.sweep)
	}
}

func (o *objects) sweep() {
	o.mu.Lock()
	o.tidy = nil
	o.mu.Unlock()
	o.closeIdle(idleAfter - time.Second)
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.idle) > 0 {
		o.sweepLater()
	}
}

// closeIdle ends processes that were not used for age.
func (o *objects) closeIdle(age time.Duration) {
	o.mu.Lock()
	var keep, drop []*reader
	for _, r := range o.idle {
		if time.Since(r.used) >= age {
			drop = append(drop, r)
		} else {
			keep = append(keep, r)
		}
	}
	o.idle = keep
	o.mu.Unlock()
	for _, r := range drop {
		r.end()
	}
}

func (r *reader) end() {
	_ = r.in.Close()
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
}

// ask requests objects without waiting for the answers. It only writes full hex
// ids: names in trees are untrusted, and one with a newline would make the
// process answer other requests.
func (r *reader) ask(ids ...string) error {
	r.bad = true
	var b strings.Builder
	for _, id := range ids {
		if !gitobject.IsID(id) {
			return fmt.Errorf("%.100q is not an object id", id)
		}
		b.WriteString("contents ")
		b.WriteString(id)
		b.WriteByte('\n')
	}
	b.WriteString("flush\n")
	_, err := io.WriteString(r.in, b.String())
	return err
}

// header reads the first line of an answer and compares its id with the
// requested one.
func (r *reader) header(id string) (kind string, size int64, err error) {
	line, err := r.out.ReadString('\n')
	if err != nil {
		return "", 0, fmt.Errorf("git cat-file ended (%v): %w", err, io.ErrUnexpectedEOF)
	}
	f := strings.Fields(line)
	if len(f) == 0 || f[0] != id {
		return "", 0, fmt.Errorf("git cat-file answered %.100q to a question for %s", line, id)
	}
	if len(f) == 2 && f[1] == "missing" {
		return "", 0, fmt.Errorf("%s: %w", id, errMissing)
	}
	if len(f) != 3 {
		return "", 0, fmt.Errorf("git cat-file answered %.100q", line)
	}
	if size, err = strconv.ParseInt(f[2], 10, 64); err != nil || size < 0 {
		return "", 0, fmt.Errorf("git cat-file answered %.100q", line)
	}
	return f[1], size, nil
}

// finish reads the newline after an object's bytes.
func (r *reader) finish() error {
	c, err := r.out.ReadByte()
	if err != nil || c != '\n' {
		return fmt.Errorf("git cat-file is out of step: %w", errors.Join(err, io.ErrUnexpectedEOF))
	}
	return nil
}

// Object reads one object into memory; it must be of the given kind.
func (m *Mirror) Object(ctx context.Context, id, kind string) (raw []byte, err error) {
	defer func() {
		if !errors.Is(err, errMissing) || kind != "commit" {
			m.noteDamage(err) // a commit is requested by name, and may not be here
		}
	}()
	m.packs.RLock()
	defer m.packs.RUnlock()
	r, err := m.objs.borrow(ctx)
	if err != nil {
		return nil, err
	}
	defer m.objs.giveBack(r)
	if err := r.ask(id); err != nil {
		return nil, err
	}
	got, size, err := r.header(id)
	if errors.Is(err, errMissing) {
		r.bad = false
	}
	if err != nil {
		return nil, err
	}
	if got != kind || size > maxInMemory {
		return nil, fmt.Errorf("object %s is a %s of %d bytes, want a %s of at most %d", id, got, size, kind, maxInMemory)
	}
	buf := make([]byte, size)
	if _, err := io.ReadFull(r.out, buf); err != nil {
		return nil, err
	}
	if err := r.finish(); err != nil {
		return nil, err
	}
	r.bad = false
	h := gitobject.New(r.format, kind, size)
	h.Write(buf)
	return buf, gitobject.Compare(id, h)
}

// window is how many blobs are requested ahead of the one being read. The requests
// of a window fit into a pipe, so writing them never blocks on reading answers.
const window = 256

// Blobs reads blobs one after the other and passes each to use with its size;
// use must read it completely. An error of use ends the reading, and so do
// bytes that do not match the id, after use has seen them.
func (m *Mirror) Blobs(ctx context.Context, ids []string, use func(i int, size int64, body io.Reader) error) (err error) {
	defer func() { m.noteDamage(err) }()
	m.packs.RLock()
	defer m.packs.RUnlock()
	r, err := m.objs.borrow(ctx)
	if err != nil {
		return err
	}
	defer m.objs.giveBack(r)
	// Do not wait for a process that hangs on a bad disk.
	stop := context.AfterFunc(ctx, func() { _ = r.cmd.Process.Kill() })
	defer stop()
	asked := 0
	for i, id := range ids {
		if i == asked || asked-i < window/2 && asked < len(ids) {
			next := min(i+window, len(ids))
			if err := r.ask(ids[asked:next]...); err != nil {
				return err
			}
			asked = next
		}
		if err := r.blob(i, id, use); err != nil {
			return errors.Join(context.Cause(ctx), err)
		}
	}
	if stop() {
		r.bad = false
	}
	return nil
}

func (r *reader) blob(i int, id string, use func(i int, size int64, body io.Reader) error) error {
	kind, size, err := r.header(id)
	if err != nil {
		return err
	}
	if kind != "blob" {
		return fmt.Errorf("object %s is a %s, want a blob", id, kind)
	}
	h := gitobject.New(r.format, kind, size)
	body := &io.LimitedReader{R: io.TeeReader(r.out, h), N: size}
	if err := use(i, size, body); err != nil {
		if _, ended := r.out.Peek(1); body.N > 0 && errors.Is(ended, io.EOF) {
			err = errors.Join(fmt.Errorf("git cat-file ended in object %s: %w", id, io.ErrUnexpectedEOF), err)
		}
		return err
	}
	if body.N != 0 {
		return fmt.Errorf("object %s was not read whole: %w", id, io.ErrUnexpectedEOF)
	}
	return errors.Join(r.finish(), gitobject.Compare(id, h))
}
