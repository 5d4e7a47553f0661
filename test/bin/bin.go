// Package bin builds the programs of this repository for tests that run them
// as processes: the world, e2e and the agent's tests call it, and cmd/dev
// through the world. It does not run anything.
//
// A program is built at most once per process, and once for all test binaries of one
// go test, one build at a time on the machine (a lock file), into
// <cache>/bin/<variant>, where the variant is the checkout and the options. It is
// compiled as what ships is, without cgo but under the race detector. With the Go build
// cache, building unchanged code takes 2 s of processor time. A file is
// replaced only as a whole, by rename, so that a running program keeps its version. The
// next build of any variant removes variants that were not requested for 3 days, and
// those whose checkout is gone, unless a process that requested one still runs.
package bin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Options choose among the builds of one program. The zero value is the plain
// one.
type Options struct {
	// Race builds with the race detector.
	Race bool
	// Tags are build tags, such as testclock.
	Tags []string
	// Version is the version that the program reports; empty keeps its default.
	Version string
	// Package is the program's path below the root of the repository, ./cmd/<name> if
	// empty. Programs of one variant are in one folder, where an agent looks for its
	// render children.
	Package string
}

// built holds what this process has built. Its lock is held over a build, so
// that a second caller finds the first one's.
var built = struct {
	sync.Mutex
	paths map[string]string
}{paths: map[string]string{}}

// Path builds the program of that name and returns the file. It returns at once
// what this process has built before. An error quotes the compiler.
func Path(ctx context.Context, name string, o Options) (string, error) {
	built.Lock()
	defer built.Unlock()
	root, err := Root()
	if err != nil {
		return "", err
	}
	variant := o.variant(root)
	if o.Package == "" {
		o.Package = "./cmd/" + name
	}
	if path, ok := built.paths[variant+"/"+name]; ok {
		return path, nil
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "bin", variant)
	path, err := build(ctx, root, dir, name, o)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	built.paths[variant+"/"+name] = path
	return path, nil
}

// variant names the folder of a build.
func (o Options) variant(root string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{root, fmt.Sprint(o.Race), strings.Join(o.Tags, ","), o.Version, o.Package}, "\n")))
	return hex.EncodeToString(sum[:])[:16]
}

// build compiles into a file that is never executed, so that go sees that nothing
// needs linking, and copies the file if it changed.
func build(ctx context.Context, root, dir, name string, o Options) (string, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(ctx, filepath.Join(filepath.Dir(dir), "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := os.MkdirAll(filepath.Join(dir, "build"), 0o755); err != nil {
		return "", err
	}
	if err := hold(dir, root); err != nil {
		return "", err
	}
	if err := clean(filepath.Dir(dir), time.Now()); err != nil {
		return "", err
	}
	compiled, path := filepath.Join(dir, "build", name), filepath.Join(dir, name)
	if builtBy(path, goTest()) {
		return path, nil
	}
	flags := "-w"
	if o.Version != "" {
		flags += " -X github.com/axle-cd/axle/internal/buildinfo.Version=" + o.Version
	}
	args := []string{"build", "-trimpath", "-o", compiled, "-ldflags", flags, "-tags", strings.Join(o.Tags, ",")}
	cgo := "CGO_ENABLED=0" // as releases are built, and with the packages that are compiled for them
	if o.Race {
		args, cgo = append(args, "-race"), "CGO_ENABLED=1"
	}
	cmd := exec.CommandContext(ctx, "go", append(args, o.Package)...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), cgo)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", o.Package, err, bytes.TrimSpace(out))
	}
	if err := refresh(compiled, path); err != nil {
		return "", err
	}
	return path, sign(path, goTest())
}

// refresh makes path a copy of compiled unless it is one already.
func refresh(compiled, path string) error {
	from, err := os.Stat(compiled)
	if err != nil {
		return err
	}
	if to, err := os.Stat(path); err == nil && to.Size() == from.Size() && to.ModTime().Equal(from.ModTime()) {
		return nil
	}
	source, err := os.Open(compiled)
	if err != nil {
		return err
	}
	defer source.Close()
	fresh, err := os.CreateTemp(filepath.Dir(path), ".copy-")
	if err != nil {
		return err
	}
	defer os.Remove(fresh.Name()) // gone after the rename
	_, err = io.Copy(fresh, source)
	if err := errors.Join(err, fresh.Chmod(0o755), fresh.Close(), os.Chtimes(fresh.Name(), from.ModTime(), from.ModTime())); err != nil {
		return err
	}
	return os.Rename(fresh.Name(), path)
}

// lock takes the lock of all builds on this machine. The kernel frees it when
// its holder ends, however that is.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			file.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, fmt.Errorf("wait for another build that holds %s: %w", path, ctx.Err())
		case <-tick.C:
		}
	}
}
