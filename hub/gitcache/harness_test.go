package gitcache_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/gitagent"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/tarball"
	"github.com/axle-cd/axle/test/gitserver"
)

// TestMain lets this binary be the guard of its own fetches, like the hub's.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "git-guard" {
		os.Exit(gitagent.GuardMain(os.Args[2:]))
	}
	if dir := os.Getenv(hubEnv); dir != "" {
		os.Exit(hubMain(dir))
	}
	// Most tests wait: for git, for servers, for pauses that are promised. The
	// command line may say otherwise.
	if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// patience is how long a condition may take on a loaded machine.
const patience = 90 * time.Second

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// world is a Git server with one repository and a hub's cache before it.
type world struct {
	t     *testing.T
	git   *gitserver.Server
	store *Memory
	cache *gitcache.Cache
	dir   string
	repo  gitcache.Repository
	stop  func()
}

const repoName = "team/app"

func newGit(t *testing.T, c gitserver.Config) *gitserver.Server {
	t.Helper()
	s, err := gitserver.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Create(t.Context(), repoName); err != nil {
		t.Fatal(err)
	}
	return s
}

type option func(*gitcache.Config)

func newWorld(t *testing.T, files map[string]gitserver.Content, options ...option) *world {
	t.Helper()
	w := &world{t: t, git: newGit(t, gitserver.Config{}), store: NewMemory(nil), dir: t.TempDir()}
	w.commit("main", files)
	w.start(options...)
	w.repo = w.create(gitcache.Credentials{})
	return w
}

func (w *world) create(c gitcache.Credentials) gitcache.Repository {
	w.t.Helper()
	r, err := w.cache.CreateRepository(w.t.Context(), gitcache.Repository{Name: "app", URL: w.git.URL(repoName)}, c)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// start runs a cache on the world's folder and store.
func (w *world) start(options ...option) {
	w.t.Helper()
	config := gitcache.Config{Store: w.store, Dir: w.dir, Replica: "hub-0", AllowUpstreamCIDRs: loopback, AllowHTTP: true,
		Log: slog.New(slog.NewTextHandler(testWriter{w.t}, nil))}
	for _, o := range options {
		o(&config)
	}
	cache, err := gitcache.New(config)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	done := make(chan error, 1)
	go func() { done <- cache.Run(ctx) }()
	stopped := false
	w.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("cache: %v", err)
		}
	}
	w.t.Cleanup(w.stop)
	w.cache = cache
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(string(p))
	return len(p), nil
}

func (w *world) commit(branch string, files map[string]gitserver.Content) string {
	w.t.Helper()
	id, err := w.git.Commit(w.t.Context(), repoName, branch, "change "+branch, files)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// track follows a folder of a ref.
func (w *world) track(ref, folder string, files ...string) gitcache.Source {
	w.t.Helper()
	s, err := gitcache.NewSource(w.repo.ID, ref, folder, files)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.cache.Track(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
	w.cache.Changed(w.repo.ID)
	return s
}

// refresh waits for a fetch that began now. Failures of upstream are returned.
func (w *world) refresh() error {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	return w.cache.RefreshAndWait(ctx, w.repo.ID, "")
}

func (w *world) mustRefresh() {
	w.t.Helper()
	if err := w.refresh(); err != nil {
		w.t.Fatal(err)
	}
}

// head waits until the source's head is as wanted.
func (w *world) head(s gitcache.Source, want func(gitcache.Head) error) gitcache.Head {
	w.t.Helper()
	var h gitcache.Head
	eventually.For(w.t, patience, "head of "+s.Folder, func() (err error) {
		if h, err = w.cache.Head(w.t.Context(), s.ID); err != nil {
			return err
		}
		return want(h)
	})
	return h
}

func good(h gitcache.Head) error {
	if h.Error != "" || h.Digest == "" {
		return fmt.Errorf("digest %q, error %q", h.Digest, h.Error)
	}
	return nil
}

func bad(h gitcache.Head) error {
	if h.Error == "" {
		return errors.New("no error")
	}
	return nil
}

func at(revision string) func(gitcache.Head) error {
	return func(h gitcache.Head) error {
		if h.Revision != revision {
			return fmt.Errorf("revision is %s, want %s; error %q", h.Revision, revision, h.Error)
		}
		return good(h)
	}
}

// unpack fetches a digest and returns the folder that it unpacked to.
func (w *world) unpack(d digest.Digest) string {
	w.t.Helper()
	f, err := w.cache.Fetch(w.t.Context(), d)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	dir := filepath.Join(w.t.TempDir(), "content")
	got, _, err := tarball.Unpack(w.t.Context(), f, dir, tarball.Limits{})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := digest.Verify(d, got); err != nil {
		w.t.Fatal(err)
	}
	return dir
}

func (w *world) content(h gitcache.Head, path string) string {
	w.t.Helper()
	raw, err := os.ReadFile(filepath.Join(w.unpack(h.Digest), h.Entry, path))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(raw)
}

func (w *world) health() gitcache.Health {
	w.t.Helper()
	r, err := w.cache.Repository(w.t.Context(), w.repo.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return r.Health
}

func newStore() *Memory { return NewMemory(nil) }
