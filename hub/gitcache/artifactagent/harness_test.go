package artifactagent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/artifactagent"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/repoagent"
	"github.com/axle-cd/axle/hub/gitcache/upstream"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/tarball"
)

// patience is how long a condition may take on a loaded machine.
const patience = 90 * time.Second

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// rows is what the tests call of the store.
type rows interface {
	record.RepositoryReader
	record.Changes
	record.SourceReader
	record.HeadStore
	record.Lease
	PutSource(ctx context.Context, s record.Source) error
}

// world is one repository and the agent that follows it.
type world struct {
	t      *testing.T
	store  rows
	node   *sink
	dir    string
	repo   record.Repository
	config artifactagent.Config
	agent  *artifactagent.Agent
	holder record.Holder
	stop   func()
}

func newWorld(t *testing.T, r record.Repository, c record.Credentials, change ...func(*artifactagent.Config)) *world {
	t.Helper()
	w := &world{t: t, store: storetest.SQLite(t).Open(t), dir: t.TempDir()}
	r.ID, r.Name = "repo_test", "test"
	var err error
	if w.repo, err = w.store.CreateRepository(t.Context(), r, c); err != nil {
		t.Fatal(err)
	}
	w.node = &sink{stored: map[digest.Digest][]byte{}}
	w.config = artifactagent.Config{Kind: r.Kind, Sink: w.node, Dir: filepath.Join(w.dir, "kept"), Dialer: &upstream.Dialer{Allow: loopback}, AllowHTTP: true,
		Agent: repoagent.Config{RepositoryID: r.ID, Rows: w.store, Results: w.store, Gap: 10 * time.Millisecond, Poll: time.Hour, Log: slog.New(slog.NewTextHandler(testWriter{t}, nil))}}
	for _, f := range change {
		f(&w.config)
	}
	w.start()
	return w
}

// start begins a life of the agent.
func (w *world) start() {
	w.t.Helper()
	w.holder.Replica = "hub-0"
	w.holder.Boot += "x"
	epoch, err := record.AcquireOne(w.t.Context(), w.store, w.repo.ID, w.holder, time.Hour, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	w.config.Agent.Epoch = epoch
	agent := artifactagent.New(w.config)
	w.agent = agent
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	done := make(chan error, 1)
	go func() { done <- agent.Run(ctx) }()
	stopped := false
	w.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("agent: %v", err)
		}
	}
	w.t.Cleanup(w.stop)
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

func (w *world) source(ref, folder string) record.Source {
	w.t.Helper()
	s, err := record.Source{RepositoryID: w.repo.ID, Ref: ref, Folder: folder}.Settle(w.repo.Kind)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) track(ref, folder string) record.Source {
	w.t.Helper()
	s := w.source(ref, folder)
	if err := w.store.PutSource(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
	w.agent.SourcesChanged()
	return s
}

// head waits until a source's head is as wanted.
func (w *world) head(s record.Source, what string, good func(record.Head) bool) record.Head {
	w.t.Helper()
	var h record.Head
	eventually.For(w.t, patience, what, func() (err error) {
		if h, err = w.store.Head(w.t.Context(), s.ID); err == nil && !good(h) {
			err = fmt.Errorf("head is %+v", h)
		}
		return err
	})
	return h
}

func (w *world) until(what string, look func() error) {
	w.t.Helper()
	eventually.For(w.t, patience, what, look)
}

func (w *world) revision(s record.Source, revision string) record.Head {
	w.t.Helper()
	return w.head(s, "revision "+revision, func(h record.Head) bool { return h.Revision == revision && h.Error == "" })
}

func (w *world) failing(s record.Source, text string) record.Head {
	w.t.Helper()
	return w.head(s, "error "+text, func(h record.Head) bool { return strings.Contains(h.Error, text) })
}

// refresh makes a pass and returns its error.
func (w *world) refresh() error {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	return w.agent.KickAndWait(ctx, "")
}

// files unpacks a head's tarball out of the sink.
func (w *world) files(h record.Head) map[string]string {
	w.t.Helper()
	return w.unpack(h.Digest, bytes.NewReader(w.node.get(h.Digest)))
}

// sink keeps tarballs in memory.
type sink struct {
	mu     sync.Mutex
	stored map[digest.Digest][]byte
	full   error
}

// Put implements artifactagent.Sink.
func (s *sink) Put(ctx context.Context, build func(context.Context, io.Writer) (digest.Digest, error)) (digest.Digest, int64, error) {
	var b bytes.Buffer
	d, err := build(ctx, &b)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err = errors.Join(err, s.full); err != nil {
		return "", 0, err
	}
	s.stored[d] = b.Bytes()
	return d, int64(b.Len()), nil
}

func (s *sink) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full = err
}

func (s *sink) get(d digest.Digest) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stored[d]
}

func (w *world) unpack(want digest.Digest, r io.Reader) map[string]string {
	w.t.Helper()
	dir := filepath.Join(w.t.TempDir(), "out")
	got, _, err := tarball.Unpack(w.t.Context(), r, dir, tarball.Limits{})
	if err = errors.Join(err, digest.Verify(want, got)); err != nil {
		w.t.Fatal(err)
	}
	out := map[string]string{}
	err = filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		raw, err := os.ReadFile(p)
		out[strings.TrimPrefix(p, dir+"/")] = string(raw)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// rebuild makes a head's tarball out of its recipe.
func (w *world) rebuild(h record.Head) (map[string]string, error) {
	w.t.Helper()
	a, err := w.store.Artifact(w.t.Context(), h.Digest)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	var b bytes.Buffer
	d, err := w.agent.Rebuild(ctx, a.Recipe, &b)
	if err != nil {
		return nil, err
	}
	if d != h.Digest {
		w.t.Errorf("rebuilt as %s, want %s", d, h.Digest)
	}
	return w.unpack(h.Digest, &b), nil
}
