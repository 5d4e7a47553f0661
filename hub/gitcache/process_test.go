package gitcache_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/rpc"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/tarball"
)

// hubEnv makes this binary a hub process that works in the folder it names,
// with the store that its parent serves there.
const hubEnv = "AXLE_TEST_HUB"

type hubConfig struct {
	Replica string
	Level   tarball.Level
}

// hubMain is the hub process: only a cache.
func hubMain(dir string) int {
	var c hubConfig
	raw, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	client, dialErr := rpc.Dial("unix", filepath.Join(dir, "store.sock"))
	if err = errors.Join(err, dialErr); err != nil {
		slog.Error("hub", "error", err)
		return 1
	}
	cache, err := gitcache.New(gitcache.Config{Store: &remoteStore{client: client}, Dir: filepath.Join(dir, "data"), Replica: c.Replica, Level: c.Level,
		AllowUpstreamCIDRs: loopback, AllowHTTP: true, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err == nil {
		err = cache.Run(context.Background())
	}
	slog.Error("hub ended", "error", err)
	return 1
}

// hubProcess is a hub in another process, whose store is in this one.
type hubProcess struct {
	t     *testing.T
	dir   string
	store *Memory
	env   []string
	cmd   *exec.Cmd
	log   bytes.Buffer
}

func newHub(t *testing.T, store *Memory, c hubConfig, env ...string) *hubProcess {
	t.Helper()
	dir, err := os.MkdirTemp("", "hub-") // short, for the socket's sake
	if err != nil {
		t.Fatal(err)
	}
	h := &hubProcess{t: t, dir: dir, store: store, env: env}
	raw, _ := json.Marshal(c)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "store.sock"))
	if err != nil {
		t.Fatal(err)
	}
	server := rpc.NewServer()
	if err := server.RegisterName("Store", &storeServer{store}); err != nil {
		t.Fatal(err)
	}
	go server.Accept(l)
	t.Cleanup(func() {
		h.kill()
		_ = l.Close()
		_ = os.RemoveAll(dir)
		if t.Failed() {
			t.Logf("hub said:\n%s", h.log.String())
		}
	})
	h.start()
	return h
}

func (h *hubProcess) start() {
	h.t.Helper()
	h.cmd = exec.Command(os.Args[0])
	h.cmd.Env = append(append(os.Environ(), hubEnv+"="+h.dir), h.env...)
	h.cmd.Stderr = &h.log
	if err := h.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
}

// kill is kill -9: nothing of the hub gets to clean up.
func (h *hubProcess) kill() {
	_ = h.cmd.Process.Signal(syscall.SIGKILL)
	_ = h.cmd.Wait()
}

// storeServer lets another process call a Memory.
type storeServer struct{ store *Memory }

// Call and Answer carry one method call.
type (
	Call struct {
		Method string
		Args   []byte
	}
	Answer struct {
		Values  []byte
		Code    errcode.Code
		Message string
		Wait    time.Duration
	}
)

// Do calls the method by its name.
func (s *storeServer) Do(c Call, a *Answer) error {
	m := reflect.ValueOf(s.store).MethodByName(c.Method)
	in := []reflect.Value{reflect.ValueOf(context.Background())}
	dec := gob.NewDecoder(bytes.NewReader(c.Args))
	for i := 1; i < m.Type().NumIn(); i++ {
		v := reflect.New(m.Type().In(i))
		if err := dec.DecodeValue(v); err != nil {
			return err
		}
		in = append(in, v.Elem())
	}
	out := m.Call(in)
	if err, _ := out[len(out)-1].Interface().(error); err != nil {
		a.Code, a.Message, a.Wait = errcode.Of(err), err.Error(), errcode.RetryAfter(err)
		return nil
	}
	var buf bytes.Buffer
	enc := gob.NewEncoder(&buf)
	for _, v := range out[:len(out)-1] {
		if err := enc.EncodeValue(v); err != nil {
			return err
		}
	}
	a.Values = buf.Bytes()
	return nil
}

// remoteStore is the other end: what a cache needs when it runs.
type remoteStore struct {
	gitcache.Store
	client *rpc.Client
}

func call[T any](s *remoteStore, method string, args ...any) (T, error) {
	var out T
	var buf bytes.Buffer
	enc := gob.NewEncoder(&buf)
	for _, arg := range args {
		if err := enc.Encode(arg); err != nil {
			return out, err
		}
	}
	var a Answer
	if err := s.client.Call("Store.Do", Call{method, buf.Bytes()}, &a); err != nil {
		return out, err
	}
	if a.Code != "" {
		return out, errcode.New(a.Code, "%s", a.Message).After(a.Wait)
	}
	if len(a.Values) == 0 {
		return out, nil
	}
	return out, gob.NewDecoder(bytes.NewReader(a.Values)).Decode(&out)
}

func (s *remoteStore) Repositories(context.Context) ([]gitcache.Repository, error) {
	return call[[]gitcache.Repository](s, "Repositories")
}

func (s *remoteStore) Repository(_ context.Context, id string) (gitcache.Repository, error) {
	return call[gitcache.Repository](s, "Repository", id)
}

func (s *remoteStore) Credentials(_ context.Context, id string) (gitcache.Credentials, error) {
	return call[gitcache.Credentials](s, "Credentials", id)
}

func (s *remoteStore) Sources(_ context.Context, id string) ([]gitcache.Source, error) {
	return call[[]gitcache.Source](s, "Sources", id)
}

func (s *remoteStore) Heads(_ context.Context, id string) ([]gitcache.Head, error) {
	return call[[]gitcache.Head](s, "Heads", id)
}

func (s *remoteStore) WriteHeads(_ context.Context, id string, epoch int64, heads []gitcache.Head, arts []gitcache.Artifact) error {
	_, err := call[struct{}](s, "WriteHeads", id, epoch, heads, arts)
	return err
}

func (s *remoteStore) WriteHealth(_ context.Context, id string, epoch int64, h gitcache.Health) error {
	_, err := call[struct{}](s, "WriteHealth", id, epoch, h)
	return err
}

func (s *remoteStore) Pins(_ context.Context, id string) ([]gitcache.Pin, error) {
	return call[[]gitcache.Pin](s, "Pins", id)
}

func (s *remoteStore) Pinned(_ context.Context, of []digest.Digest) ([]digest.Digest, error) {
	return call[[]digest.Digest](s, "Pinned", of)
}

func (s *remoteStore) DropSources(context.Context, time.Time) (int, error) { return 0, nil }

func (s *remoteStore) Acquire(_ context.Context, ids []string, h gitcache.Holder, ttl, grace time.Duration) (map[string]int64, error) {
	return call[map[string]int64](s, "Acquire", ids, h, ttl, grace)
}

func (s *remoteStore) Renew(_ context.Context, h gitcache.Holder, ttl time.Duration) ([]gitcache.Held, error) {
	return call[[]gitcache.Held](s, "Renew", h, ttl)
}

func (s *remoteStore) Release(_ context.Context, epochs map[string]int64, h gitcache.Holder) error {
	_, err := call[struct{}](s, "Release", epochs, h)
	return err
}

func (s *remoteStore) StartFetch(_ context.Context, id string, epoch int64, gap time.Duration) error {
	_, err := call[struct{}](s, "StartFetch", id, epoch, gap)
	return err
}

func (s *remoteStore) RequestKick(_ context.Context, id string) error {
	_, err := call[struct{}](s, "RequestKick", id)
	return err
}

// createRepository puts a repository into a store without a cache.
func createRepository(t *testing.T, s *Memory, url string) gitcache.Repository {
	t.Helper()
	r, err := s.CreateRepository(t.Context(), gitcache.Repository{ID: "repo_x", Name: "x", Kind: record.Git, URL: url}, gitcache.Credentials{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
