package pg

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/axle-cd/axle/internal/child"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/port"
	"github.com/axle-cd/axle/test/program"
)

// ready bounds a start, on a machine that does much else.
const ready = 60 * time.Second

// prefix starts the name of every server's folder.
const prefix = "axle-pg-"

// settings make the server fast and small. Commits survive the end of the
// server, since they wait for the write, but not that of the machine.
var settings = []string{
	"fsync=off", "full_page_writes=off",
	"max_connections=300", "shared_buffers=32MB", "wal_level=minimal", "max_wal_senders=0",
	"autovacuum=off", "log_min_messages=warning", "jit=off",
}

// Server is a running Postgres.
type Server struct {
	dir  string
	port int
	as   *syscall.Credential

	mu     sync.Mutex
	cmd    *exec.Cmd
	ended  chan struct{}
	clones int
}

// memory is where Linux keeps files in memory, if anywhere.
const memory = "/dev/shm"

// enough is the room without which no server goes there: a test package makes
// up to 200 databases of some 8 MB, most of them one after the other.
const enough = 4 << 30

// Folder is where servers keep their files, and where other files of tests may be, if they
// need not outlive the machine: in memory if there is room.
func Folder() string { return place(memory) }

// place is where servers keep their files: in memory where there is room. A
// database is 300 files, which a disk takes a second to make and to remove, and
// nothing here outlives the machine anyway.
func place(memory string) string {
	var fs syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(memory, &fs) != nil || fs.Bavail*uint64(fs.Bsize) < enough {
		return os.TempDir()
	}
	probe, err := os.MkdirTemp(memory, prefix+"probe-*")
	if err != nil {
		return os.TempDir()
	}
	_ = os.Remove(probe) // empty, and swept otherwise
	return memory
}

// Start creates a new, empty server in its own folder and waits until it answers.
// Close ends it.
func Start(ctx context.Context) (*Server, error) {
	as, err := credential()
	if err != nil {
		return nil, err
	}
	sweep()
	dir, err := os.MkdirTemp(place(memory), prefix+"*")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, as: as}
	if as != nil {
		if err := os.Chown(dir, int(as.Uid), int(as.Gid)); err != nil {
			return nil, err
		}
	}
	if err := s.initialise(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if s.port, err = port.Free(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.run(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// sweep removes the folders of servers whose parent was killed: no
// server runs on them, and they are not being made just now.
func sweep() {
	var dirs []string
	for _, where := range []string{os.TempDir(), memory} {
		there, _ := filepath.Glob(filepath.Join(where, prefix+"*"))
		dirs = append(dirs, there...)
	}
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < 10*time.Minute {
			continue
		}
		var pid int
		text, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
		if _, serr := fmt.Sscan(string(text), &pid); err == nil && serr == nil && syscall.Kill(pid, 0) == nil {
			continue
		}
		_ = os.RemoveAll(dir) // another process may be doing the same
	}
}

// initialise makes the data folder, a copy of the one that initdb made the first time:
// that takes a tenth of initdb's processor time, and each test binary needs one. Where
// nothing can be kept, initdb runs each time.
func (s *Server) initialise(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	initdb, err := pathOf("initdb")
	if err != nil {
		return err
	}
	// Use a natural-language collation, the usual default of real servers, so that
	// tests notice code that relies on byte order without requesting it.
	cmd := exec.CommandContext(ctx, initdb, "--username", "axle", "--auth", "trust", "--encoding", "UTF8",
		"--locale", "C.UTF-8", "--locale-provider", "icu", "--icu-locale", "en-US", "--no-sync", "--no-instructions")
	kept := s.kept(cmd.Args)
	if _, err := os.Stat(kept); err == nil {
		if copyFolder(ctx, kept, s.data()) == nil {
			return nil
		}
		if err := os.RemoveAll(s.data()); err != nil {
			return err
		}
	}
	cmd.Args = append(cmd.Args, "--pgdata", s.data())
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	cmd.Dir = s.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w:\n%s", err, out)
	}
	_ = s.keep(ctx, kept) // or the next one runs initdb, too
	return nil
}

// kept is where the data folder of a command of initdb is kept, by the program, its user and
// its arguments; nowhere if there is no cache.
func (s *Server) kept(command []string) string {
	cache, err := program.CacheDir()
	if err != nil {
		return ""
	}
	info, err := os.Stat(command[0])
	if err != nil {
		return ""
	}
	key := sha256.Sum256(fmt.Append(nil, command, info.Size(), info.ModTime().UnixNano(), s.as))
	return filepath.Join(cache, "pg", fmt.Sprintf("%x", key[:8]))
}

// keep copies the data folder to where others find it whole or not at all.
func (s *Server) keep(ctx context.Context, kept string) error {
	if kept == "" {
		return nil
	}
	cache := filepath.Dir(kept)
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	const making = "new-"
	left, _ := filepath.Glob(filepath.Join(cache, making+"*")) // of those that were killed
	for _, dir := range left {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > 10*time.Minute {
			_ = os.RemoveAll(dir)
		}
	}
	dir, err := os.MkdirTemp(cache, making)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	made := filepath.Join(dir, "data")
	if err := copyFolder(ctx, s.data(), made); err != nil {
		return err
	}
	// After a power cut, a folder that was not written would be copied for ever.
	if out, err := exec.CommandContext(ctx, "sync", "-f", made).CombinedOutput(); err != nil {
		return fmt.Errorf("sync %s: %w:\n%s", made, err, out)
	}
	return os.Rename(made, kept) // fails where another process was first
}

// copyFolder keeps owners and modes, which Postgres checks.
func copyFolder(ctx context.Context, from, to string) error {
	if out, err := exec.CommandContext(ctx, "cp", "-a", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s to %s: %w:\n%s", from, to, err, out)
	}
	return nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }
func (s *Server) log() string  { return filepath.Join(s.dir, "server.log") }

// run starts the server's process and waits until it answers.
func (s *Server) run(ctx context.Context) error {
	postgres, err := pathOf("postgres")
	if err != nil {
		return err
	}
	args := []string{"-D", s.data(), "-h", "127.0.0.1", "-p", fmt.Sprint(s.port), "-k", s.dir}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	out, err := os.OpenFile(s.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.Command(postgres, args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = out, out, s.dir
	// Its own group, so that Ctrl-C reaches the parent alone. SIGQUIT makes the
	// server take its children along at once; SIGKILL would leave them.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as, Pdeathsig: syscall.SIGQUIT}
	if err := child.Start(cmd); err != nil {
		return fmt.Errorf("start postgres: %w", err)
	}
	ended := make(chan struct{})
	s.mu.Lock()
	s.cmd, s.ended = cmd, ended
	s.mu.Unlock()
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		close(ended)
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-ended:
			cancel(errors.New("it ended"))
		case <-ctx.Done():
		}
	}()
	if err := eventually.Wait(ctx, ready, func() error { return s.exec(ctx, "SELECT 1") }); err != nil {
		return fmt.Errorf("postgres is not ready: %w; end of its log:\n%s", err, s.tail())
	}
	return nil
}

func (s *Server) tail() string {
	text, err := os.ReadFile(s.log())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-2048):]))
}

// URL returns the address of a database.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://axle@127.0.0.1:%d/%s?sslmode=disable", s.port, database)
}

// exec runs one statement in the maintenance database.
func (s *Server) exec(ctx context.Context, statement string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// Clone makes a new database and returns its URL and a function that removes
// it with all its connections.
func (s *Server) Clone(ctx context.Context) (url string, drop func(), err error) {
	name, err := s.cloneOf(ctx, "template0")
	if err != nil {
		return "", nil, err
	}
	return s.URL(name), s.dropping(ctx, name), nil
}

// cloneOf creates a database as a copy of another one, to which nobody is connected. Its
// files are copied: to log each page, the default, takes twice the processor time.
func (s *Server) cloneOf(ctx context.Context, template string) (name string, err error) {
	s.mu.Lock()
	s.clones++
	name = fmt.Sprintf("clone_%d", s.clones)
	s.mu.Unlock()
	if err := s.exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+template+" STRATEGY file_copy"); err != nil {
		return "", fmt.Errorf("make database %s: %w", name, err)
	}
	return name, nil
}

func (s *Server) dropping(ctx context.Context, name string) func() {
	return func() {
		// The server may be stopped already, and then it goes with its folder.
		_ = s.exec(context.WithoutCancel(ctx), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	}
}

// unused waits until nobody is connected to a database: the server notices the end of
// a connection a moment after its client.
func (s *Server) unused(ctx context.Context, name string) error {
	return eventually.Wait(ctx, ready, func() error {
		return s.exec(ctx, "SELECT 1 / (1 - sign(count(*))::int) FROM pg_stat_activity WHERE datname = '"+name+"'")
	})
}

// Pause stops the server's processes, like a hanging machine, and returns a function
// that resumes them.
func (s *Server) Pause() (resume func(), err error) {
	pids, err := s.processes()
	if err != nil {
		return nil, err
	}
	signal := func(sig syscall.Signal) error {
		var errs []error
		for _, pid := range pids {
			if err := syscall.Kill(pid, sig); !errors.Is(err, syscall.ESRCH) {
				errs = append(errs, err)
			}
		}
		return errors.Join(errs...)
	}
	return func() { _ = signal(syscall.SIGCONT) }, signal(syscall.SIGSTOP)
}

// Pid is the process id of the server, whose children serve the connections.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cmd.Process.Pid
}

// processes returns the server's process and its children; each child has its own
// process group, so a signal to the group would miss them.
func (s *Server) processes() ([]int, error) {
	s.mu.Lock()
	pid := s.cmd.Process.Pid
	s.mu.Unlock()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil, err
	}
	pids := []int{pid}
	for _, field := range strings.Fields(string(text)) {
		var child int
		if _, err := fmt.Sscan(field, &child); err == nil {
			pids = append(pids, child)
		}
	}
	return pids, nil
}

// Stop ends the server and all connections at once. Committed data is there after
// Restart.
func (s *Server) Stop() error { return s.signal(syscall.SIGINT) }

// Crash ends the server without the chance to tidy up; Restart recovers.
func (s *Server) Crash() error { return s.signal(syscall.SIGQUIT) }

func (s *Server) signal(sig syscall.Signal) error {
	s.mu.Lock()
	cmd, ended := s.cmd, s.ended
	s.mu.Unlock()
	if cmd == nil {
		return nil
	}
	if err := cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-ended:
		return nil
	case <-time.After(ready):
		return fmt.Errorf("postgres did not end; end of its log:\n%s", s.tail())
	}
}

// Restart ends the server and starts it again on the same port and folder.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.Stop(); err != nil {
		return err
	}
	return s.run(ctx)
}

// Snapshot copies the whole server at this moment, like a standby, and returns a
// function that restores that state: what was committed in between is lost, as in a
// failover to a standby that lagged. The server's address stays. If the server is not
// restarted, the copy is removed with its folder.
func (s *Server) Snapshot(ctx context.Context) (failover func(context.Context) error, err error) {
	resume, err := s.Pause()
	if err != nil {
		return nil, err
	}
	defer resume()
	s.mu.Lock()
	s.clones++
	copied := filepath.Join(s.dir, fmt.Sprintf("snapshot-%d", s.clones))
	s.mu.Unlock()
	// Nothing writes while all processes are paused, so the copy equals the state
	// after a crash, which the start recovers.
	if out, err := exec.CommandContext(ctx, "cp", "-a", s.data(), copied).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("copy the server: %w: %s", err, out)
	}
	if err := os.Remove(filepath.Join(copied, "postmaster.pid")); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		if err := s.Crash(); err != nil {
			return err
		}
		if err := os.RemoveAll(s.data()); err != nil {
			return err
		}
		if err := os.Rename(copied, s.data()); err != nil {
			return err
		}
		return s.run(ctx)
	}, nil
}

// Close ends the server and removes its folder.
func (s *Server) Close() error {
	return errors.Join(s.signal(syscall.SIGQUIT), os.RemoveAll(s.dir))
}
