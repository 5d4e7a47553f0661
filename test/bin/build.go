package bin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// folder is where programs are, below the root.
	folder = "bin/test"
	// neverCached is the file in it that is always too young for Go to cache a test.
	neverCached = "never-cached"
	// withoutPages is the tag that leaves the pages out of cmd/axle-hub.
	withoutPages = "nopages"
)

// build builds packages of one variant and returns the programs whose content changed.
func build(ctx context.Context, root string, o Options, packages []string) ([]string, error) {
	all := filepath.Join(root, folder)
	dir, work := filepath.Join(all, o.variant()), filepath.Join(all, ".work")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	unlock, err := lock(ctx, filepath.Join(all, "lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	// The linker writes beside the programs, so that go renames what it has linked. A
	// killed go left its work.
	if err := errors.Join(os.RemoveAll(work), os.MkdirAll(work, 0o755)); err != nil {
		return nil, err
	}
	before := map[string]time.Time{}
	for _, p := range packages {
		if info, err := os.Stat(filepath.Join(dir, path.Base(p))); err == nil {
			before[p] = info.ModTime()
		}
	}
	command := exec.CommandContext(ctx, "go", append(o.arguments(dir), packages...)...)
	command.Dir, command.Env = filepath.Join(root, o.Module), append(o.environment(), "GOTMPDIR="+work)
	if out, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build %s: %w\n%s", strings.Join(packages, " "), err, bytes.TrimSpace(out))
	}
	var fresh []string
	for _, p := range packages {
		file := filepath.Join(dir, path.Base(p))
		at, err := contentTime(file)
		if err == nil {
			err = os.Chtimes(file, at, at) // go gives a file that it left as it is the present
		}
		if err != nil {
			return nil, err
		}
		if !at.Equal(before[p]) {
			fresh = append(fresh, path.Join(folder, o.variant(), path.Base(p)))
		}
	}
	// Who follows the path of a program looks at its folders, which a build has changed.
	return fresh, errors.Join(os.Chtimes(dir, first, first), os.Chtimes(all, first, first))
}

// arguments are those of go before the packages.
func (o Options) arguments(dir string) []string {
	flags := "-w"
	if o.Version != "" {
		flags += " -X github.com/axle-cd/axle/internal/buildinfo.Version=" + o.Version
	}
	tags := o.Tags
	if o.Pages == "" {
		tags = append(slices.Clone(tags), withoutPages)
	}
	return []string{"build", "-trimpath", "-buildvcs=false", "-o", dir + "/", "-ldflags", flags, "-tags", strings.Join(tags, ",")}
}

// environment is that of go: as releases are built, with the packages that are compiled
// for them.
func (o Options) environment() []string {
	env := append(os.Environ(), "CGO_ENABLED=0")
	if o.Module != "" {
		env = append(env, "GOWORK=off")
	}
	if system, processor, ok := strings.Cut(o.Target, "/"); ok {
		env = append(env, "GOOS="+system, "GOARCH="+processor)
	}
	return env
}

// first is the time of folders, and before that of every program.
var first = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

// contentTime is a time between 2001 and 2021 that is made of a file's content: other
// content has another time, to the nanosecond.
func contentTime(file string) (time.Time, error) {
	f, err := os.Open(file)
	if err != nil {
		return time.Time{}, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return time.Time{}, err
	}
	return timeOf(sum), nil
}

// timeOf is a time between 2001 and 2021.
func timeOf(sum hash.Hash) time.Time {
	const span = uint64(20 * 365 * 24 * time.Hour)
	return first.Add(time.Duration(binary.BigEndian.Uint64(sum.Sum(nil)) % span))
}

// writeNeverCached writes a file of the future, which makes it an input of this test.
func writeNeverCached(file string) error {
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		return err
	}
	return os.Chtimes(file, never, never)
}

// lock takes the lock of all builds in this checkout. The kernel frees it when
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
