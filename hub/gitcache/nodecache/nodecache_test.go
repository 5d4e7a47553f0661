package nodecache_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/nodecache"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// writerEnv makes this binary a process that stores a tarball and never ends.
const writerEnv = "AXLE_TEST_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerEnv); dir != "" {
		c, err := nodecache.New(nodecache.Config{Dir: dir})
		if err == nil {
			_, _, _ = c.Put(context.Background(), func(ctx context.Context, w io.Writer) (digest.Digest, error) {
				_, _ = w.Write(bytes.Repeat([]byte("half of it"), 10_000))
				_, _ = os.Stdout.WriteString("written\n")
				select {}
			})
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func open(t *testing.T, c nodecache.Config) *nodecache.Cache {
	t.Helper()
	n, err := nodecache.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func name(text string) digest.Digest {
	b := digest.New()
	_ = b.Add("f", digest.File, digest.SumOf([]byte(text)))
	return b.Digest()
}

// building writes n bytes under the name of text.
func building(text string, n int) nodecache.Build {
	return func(_ context.Context, w io.Writer) (digest.Digest, error) {
		_, err := io.Copy(w, io.LimitReader(&repeat{text: text}, int64(n)))
		return name(text), err
	}
}

type repeat struct{ text string }

func (r *repeat) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], r.text)
	}
	return n, nil
}

func put(t *testing.T, c *nodecache.Cache, text string, n int) {
	t.Helper()
	if d, size, err := c.Put(t.Context(), building(text, n)); err != nil || d != name(text) || size != int64(n) {
		t.Fatalf("put %s: %s, %d, %v", text, d, size, err)
	}
}

func stored(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, p)
		}
		return nil
	})
	return out
}

func TestSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	put(t, open(t, nodecache.Config{Dir: dir}), "a", 1000)
	c := open(t, nodecache.Config{Dir: dir})
	f, err := c.Open(name("a"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if raw, err := io.ReadAll(f); err != nil || string(raw) != strings.Repeat("a", 1000) || f.Size != 1000 || len(f.Hash) != 64 {
		t.Errorf("%d bytes, %v, %+v", len(raw), err, f)
	}
}

func TestDamagedFileIsNotServedAndBuiltAgain(t *testing.T) {
	for what, damage := range map[string]func(path string) error{
		"flipped": func(p string) error { return os.WriteFile(p, bytes.Repeat([]byte("b"), 1000), 0o644) },
		"cut":     func(p string) error { return os.Truncate(p, 500) },
		"empty":   func(p string) error { return os.Truncate(p, 0) },
		"gone":    os.Remove,
	} {
		dir := t.TempDir()
		put(t, open(t, nodecache.Config{Dir: dir}), "a", 1000)
		if err := damage(stored(t, dir)[0]); err != nil {
			t.Fatal(err)
		}
		c := open(t, nodecache.Config{Dir: dir})
		if _, err := c.Open(name("a")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", what, err)
		}
		f, err := c.Get(t.Context(), name("a"), building("a", 1000))
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		_ = f.Close()
	}
}

// TestDamageIsSeenByWhoReads checks that a file that was damaged after it was
// verified is served at most once.
func TestDamageIsSeenByWhoReads(t *testing.T) {
	for what, damage := range map[string]func(path string) error{
		"flipped": func(p string) error { return os.WriteFile(p, bytes.Repeat([]byte("b"), 1000), 0o644) },
		"cut":     func(p string) error { return os.Truncate(p, 500) },
	} {
		for how, read := range map[string]func(f *nodecache.File) error{
			"read":   func(f *nodecache.File) error { _, err := io.ReadAll(f); return err },
			"copied": func(f *nodecache.File) error { _, err := io.Copy(io.Discard, f); return err },
			"served": func(f *nodecache.File) error {
				http.ServeContent(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), "", time.Time{}, f)
				return nil
			},
		} {
			dir := t.TempDir()
			c := open(t, nodecache.Config{Dir: dir})
			put(t, c, "a", 1000)
			good, err := c.Open(name("a"))
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(read(good), good.Close()); err != nil || !c.Has(name("a")) {
				t.Fatalf("%s, %s: a good file: %v, is there: %v", what, how, err, c.Has(name("a")))
			}
			if err := damage(stored(t, dir)[0]); err != nil {
				t.Fatal(err)
			}
			f, err := c.Open(name("a"))
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(read(f), f.Close()); err != nil {
				t.Fatal(err)
			}
			if c.Has(name("a")) {
				t.Errorf("%s, %s: the damaged file is still given out", what, how)
			}
		}
	}
}

// Who unpacks stops where the bytes are wrong, and the rest is never read.
// Then the next reader's open looks, but not for each who is cut off.
func TestWhoStopsInTheMiddleHasAllLookedAt(t *testing.T) {
	dir, now := t.TempDir(), clock.NewManual(time.Now())
	c := open(t, nodecache.Config{Dir: dir, Clock: now})
	put(t, c, "a", 1000)
	stop := func() error {
		f, err := c.Open(name("a"))
		if err != nil {
			return err
		}
		_, err = io.ReadFull(f, make([]byte, 10))
		return errors.Join(err, f.Close())
	}
	if err := os.WriteFile(stored(t, dir)[0], bytes.Repeat([]byte("b"), 1000), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(stop(), stop()); err != nil {
		t.Fatalf("all bytes were looked at within the minute: %v", err)
	}
	now.Advance(time.Minute)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if err := stop(); !errors.Is(err, fs.ErrNotExist) || c.Has(name("a")) {
		t.Errorf("the damaged file is still given out: %v", err)
	}
}

func TestFailedBuildLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	c := open(t, nodecache.Config{Dir: dir})
	broken := errors.New("git died")
	_, err := c.Get(t.Context(), name("a"), func(_ context.Context, w io.Writer) (digest.Digest, error) {
		_, _ = w.Write([]byte("half"))
		return name("a"), broken
	})
	if !errors.Is(err, broken) || len(stored(t, dir)) != 0 || c.Has(name("a")) {
		t.Errorf("%v, left %v", err, stored(t, dir))
	}
	var mismatch *digest.MismatchError
	if _, err := c.Get(t.Context(), name("a"), building("b", 10)); !errors.As(err, &mismatch) {
		t.Errorf("other content under the name: %v", err)
	}
	if c.Has(name("a")) {
		t.Error("the wrong content got the name")
	}
}

// TestKilledWriterLeavesNoEntry kills a process in the middle of a write.
func TestKilledWriterLeavesNoEntry(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), writerEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 7)); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if len(stored(t, dir)) != 1 {
		t.Fatalf("the killed process left %v; the test shows nothing", stored(t, dir))
	}
	c := open(t, nodecache.Config{Dir: dir})
	if files, _ := c.Usage(); files != 0 || len(stored(t, dir)) != 0 {
		t.Errorf("%d entries, files %v", files, stored(t, dir))
	}
}

func TestOneBuildForAll(t *testing.T) {
	c := open(t, nodecache.Config{Dir: t.TempDir()})
	var builds atomic.Int32
	release := make(chan struct{})
	build := func(ctx context.Context, w io.Writer) (digest.Digest, error) {
		builds.Add(1)
		<-release
		return building("a", 100)(ctx, w)
	}
	impatient, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() { _, err := c.Get(impatient, name("a"), build); gone <- err }()
	eventually.For(t, time.Minute, "the build", func() error {
		if builds.Load() == 0 {
			return errors.New("not begun")
		}
		return nil
	})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			f, err := c.Get(t.Context(), name("a"), build)
			if err != nil {
				t.Error(err)
				return
			}
			_ = f.Close()
		})
	}
	leave() // the first caller leaves, the build continues
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller who left got %v", err)
	}
	close(release)
	wg.Wait()
	if n := builds.Load(); n != 1 {
		t.Errorf("built %d times", n)
	}
}

func TestEviction(t *testing.T) {
	now := clock.NewManual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	c := open(t, nodecache.Config{Dir: t.TempDir(), MaxBytes: 2500, Clock: now})
	has := func() string {
		var s string
		for _, d := range []string{"a", "b", "c", "p"} {
			if c.Has(name(d)) {
				s += d
			}
		}
		return s
	}
	put(t, c, "p", 5000)
	c.SetPinned([]digest.Digest{name("p")})
	put(t, c, "a", 1000)
	put(t, c, "b", 1000)
	if f, err := c.Open(name("a")); err == nil {
		_ = f.Close()
	}
	put(t, c, "c", 1000)
	if got := has(); got != "acp" {
		t.Errorf("after too many bytes: %s, want a (used last), c (new) and p (pinned)", got)
	}
	now.Advance(23 * time.Hour)
	c.Evict(2500)
	if got := has(); got != "acp" {
		t.Errorf("after 23 h: %s", got)
	}
	now.Advance(90 * time.Minute)
	c.Evict(2500)
	if got := has(); got != "p" {
		t.Errorf("after 24.5 h: %s", got)
	}
	c.SetPinned(nil)
	c.Evict(2500)
	if got := has(); got != "" {
		t.Errorf("unpinned: %s", got)
	}
}

// TestDiskFull runs on a small separate disk: unpinned tarballs make room,
// pinned ones stay and are served, and what does not fit fails with a clear
// error and leaves no partial file.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Fatalf("mount a small tmpfs: %v; run the tests as root, e.g. unshare -rm go test ./hub/gitcache/nodecache", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	c := open(t, nodecache.Config{Dir: filepath.Join(dir, "cache")})
	put(t, c, "pinned", 1500<<10)
	put(t, c, "loose", 1500<<10)
	c.SetPinned([]digest.Digest{name("pinned")})
	put(t, c, "new", 2<<20)
	if c.Has(name("loose")) || !c.Has(name("pinned")) {
		t.Error("the wrong one made room")
	}
	c.SetPinned([]digest.Digest{name("pinned"), name("new")})
	_, _, err := c.Put(t.Context(), building("too much", 2<<20))
	if !errcode.Is(err, errcode.Exhausted) || !strings.Contains(err.Error(), "larger volume") {
		t.Errorf("error is %v", err)
	}
	for _, d := range []string{"pinned", "new"} {
		f, err := c.Open(name(d))
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
	if n := len(stored(t, dir)); n != 2 {
		t.Errorf("%d files on the disk, want 2", n)
	}
	// It heals when there is room again.
	c.SetPinned([]digest.Digest{name("pinned")})
	put(t, c, "too much", 2<<20)
}

// TestABuildMayBeginAnew: what a first attempt wrote is in neither the stored
// bytes nor their hash.
func TestABuildMayBeginAnew(t *testing.T) {
	c := open(t, nodecache.Config{Dir: t.TempDir()})
	f, err := c.Get(t.Context(), name("x"), func(_ context.Context, w io.Writer) (digest.Digest, error) {
		r, ok := w.(nodecache.Restarter)
		if !ok {
			return "", errors.New("the writer cannot begin anew")
		}
		for _, part := range []string{"a first attempt that is longer", "half", "x"} {
			if err := r.Restart(); err != nil {
				return "", err
			}
			if _, err := io.WriteString(r, part); err != nil {
				return "", err
			}
		}
		return name("x"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := io.ReadAll(f)
	if err != nil || string(got) != "x" || f.Size != 1 {
		t.Errorf("stored %q of %d bytes, %v", got, f.Size, err)
	}
	if size, ok := c.Size(name("x")); !ok || size != 1 {
		t.Errorf("size %d, %v", size, ok)
	}
}
