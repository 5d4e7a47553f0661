package cache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/agent/cache"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/seal"
	"github.com/axle-cd/axle/internal/tarball"
)

func open(t *testing.T, dir string, change ...func(*cache.Config)) *cache.Cache {
	t.Helper()
	sealer, err := seal.OpenFile(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := cache.Config{Dir: dir, Sealer: sealer}
	for _, f := range change {
		f(&cfg)
	}
	c, err := cache.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// pack makes a tarball of one file.
func pack(t *testing.T, text string) (digest.Digest, []byte) {
	t.Helper()
	var out bytes.Buffer
	entries := iter.Seq2[tarball.Entry, error](func(yield func(tarball.Entry, error) bool) {
		yield(tarball.Entry{Path: "a/file.yaml", Size: int64(len(text)), Body: strings.NewReader(text)}, nil)
	})
	d, _, err := tarball.Write(&out, entries, tarball.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d, out.Bytes()
}

// source counts downloads.
type source struct {
	body  []byte
	err   error
	count atomic.Int32
}

func (s *source) fetch(context.Context, tarball.Request) (*tarball.Download, error) {
	s.count.Add(1)
	return &tarball.Download{ReadCloser: io.NopCloser(bytes.NewReader(s.body)), Size: int64(len(s.body))}, s.err
}

func read(t *testing.T, tree cache.Tree) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tree.Dir, "a/file.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTreeSurvivesARestartWithoutTheHub(t *testing.T) {
	dir := t.TempDir()
	d, body := pack(t, "kind: ConfigMap")
	src := &source{body: body}
	if _, err := open(t, dir).Tree(t.Context(), "s1", d, src.fetch); err != nil {
		t.Fatal(err)
	}
	away := &source{err: errors.New("the hub is away")}
	tree, err := open(t, dir).Tree(t.Context(), "s1", d, away.fetch)
	if err != nil || read(t, tree) != "kind: ConfigMap" || away.count.Load() != 0 {
		t.Errorf("got %v after %d downloads", err, away.count.Load())
	}
}

func TestOneDownloadForManyCallers(t *testing.T) {
	c := open(t, t.TempDir())
	d, body := pack(t, "x")
	src := &source{body: body}
	var wg sync.WaitGroup
	for n := range 20 {
		wg.Go(func() {
			tree, err := c.Tree(t.Context(), fmt.Sprint("s", n), d, src.fetch)
			if err != nil {
				t.Error(err)
			}
			tree.Release()
		})
	}
	wg.Wait()
	if n := src.count.Load(); n != 1 {
		t.Errorf("%d downloads, want 1", n)
	}
}

func TestBadDownloadsNeverBecomeTrees(t *testing.T) {
	d, body := pack(t, strings.Repeat("kind: ConfigMap\n", 10_000))
	_, other := pack(t, "something else")
	for name, test := range map[string]struct {
		body []byte
		want errcode.Code
	}{
		"cut":              {body[:len(body)/2], errcode.Unavailable},
		"another content":  {other, errcode.Unavailable},
		"a portal's page":  {[]byte("<html>sign in</html>"), errcode.Unavailable},
		"nothing":          {nil, errcode.Unavailable},
		"over the limits":  {body, errcode.Exhausted},
		"damaged on a way": {flip(body), errcode.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c := open(t, dir, func(cfg *cache.Config) {
				if name == "over the limits" {
					cfg.Limits = tarball.Limits{Bytes: 1000}
				}
			})
			if _, err := c.Tree(t.Context(), "s1", d, (&source{body: test.body}).fetch); errcode.Of(err) != test.want {
				t.Errorf("got %v (%s), want %s", err, errcode.Of(err), test.want)
			}
			if left, _ := os.ReadDir(filepath.Join(dir, "cache")); len(left) > 0 {
				t.Errorf("%d files remain of a download that was refused", len(left))
			}
			if test.want == errcode.Unavailable {
				if _, err := c.Tree(t.Context(), "s1", d, (&source{body: body}).fetch); err != nil {
					t.Errorf("once the cause is gone: %v", err)
				}
			}
		})
	}
}

func flip(body []byte) []byte {
	b := bytes.Clone(body)
	b[len(b)/2] ^= 0xff
	return b
}

func TestAKillBetweenTreeAndRecordCostsADownload(t *testing.T) {
	dir := t.TempDir()
	d, body := pack(t, "x")
	src := &source{body: body}
	if _, err := open(t, dir).Tree(t.Context(), "s1", d, src.fetch); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "cache", d.Hex()+".json")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "cache", "unfinished-1", "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := open(t, dir)
	if left, _ := os.ReadDir(filepath.Join(dir, "cache")); len(left) > 0 {
		t.Errorf("%d unfinished trees remain", len(left))
	}
	if _, err := c.Tree(t.Context(), "s1", d, src.fetch); err != nil || src.count.Load() != 2 {
		t.Errorf("got %v after %d downloads, want 2", err, src.count.Load())
	}
}

// TestATreeThatLostItsBytesWithThePowerIsNotTrusted: trees are not synced. A
// file that is empty after a power cut would render to nothing, and its objects
// would be pruned.
func TestATreeThatLostItsBytesWithThePowerIsNotTrusted(t *testing.T) {
	dir := t.TempDir()
	d, body := pack(t, "kind: ConfigMap")
	boot := func(id string) func(*cache.Config) { return func(c *cache.Config) { c.Boot = id } }
	s := &source{body: body}
	if _, err := open(t, dir, boot("monday")).Tree(t.Context(), "s1", d, s.fetch); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, dir, boot("tuesday")).Tree(t.Context(), "s1", d, s.fetch); err != nil || s.count.Load() != 1 {
		t.Fatalf("a whole tree after a restart of the machine: %v, %d downloads, want 1", err, s.count.Load())
	}
	if err := os.Truncate(filepath.Join(dir, "cache", d.Hex(), "a/file.yaml"), 0); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir, boot("wednesday"))
	for range 2 {
		tree, err := again.Tree(t.Context(), "s1", d, s.fetch)
		if err != nil {
			t.Fatal(err)
		}
		if text := read(t, tree); text != "kind: ConfigMap" {
			t.Errorf("the tree holds %q", text)
		}
		tree.Release()
	}
	if s.count.Load() != 2 {
		t.Errorf("%d downloads, want the second after the power was lost", s.count.Load())
	}
}

func TestFullDiskKeepsTheOld(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=512k"); err != nil {
		t.Fatalf("a small disk needs the right to mount tmpfs, run the tests as root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	c := open(t, dir)
	small, body := pack(t, "small")
	if _, err := c.Tree(t.Context(), "s1", small, (&source{body: body}).fetch); err != nil {
		t.Fatal(err)
	}
	large, body := pack(t, strings.Repeat("0123456789abcdef", 100_000))
	_, err := c.Tree(t.Context(), "s1", large, (&source{body: body}).fetch)
	if !errcode.Is(err, errcode.Exhausted) || !strings.Contains(err.Error(), "disk") {
		t.Errorf("got %v, want a full disk", err)
	}
	tree, err := c.Tree(t.Context(), "s1", small, (&source{err: errors.New("away")}).fetch)
	if err != nil || read(t, tree) != "small" {
		t.Errorf("the old tree: %v", err)
	}
}

func TestKeepSparesWhatIsInUse(t *testing.T) {
	c := open(t, t.TempDir())
	d, body := pack(t, "x")
	src := &source{body: body}
	tree, err := c.Tree(t.Context(), "s1", d, src.fetch)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Keep(nil); err != nil {
		t.Fatal(err)
	}
	if read(t, tree) != "x" {
		t.Error("a tree in use was removed")
	}
	tree.Release()
	if err := c.Keep(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(tree.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the tree is still there: %v", err)
	}
}

func TestSpecsAreSealed(t *testing.T) {
	dir := t.TempDir()
	sealer, err := seal.OpenFile(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	same := func(cfg *cache.Config) { cfg.Sealer = sealer }
	spec := &agentv1.ServiceSpec{Id: "s1", Name: "web", Secrets: map[string]string{"password": "canary-secret"}}
	if err := open(t, dir, same).PutSpec(spec); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "specs", "s1"))
	if err != nil || bytes.Contains(raw, []byte("canary")) {
		t.Errorf("the spec lies open on disk (%v)", err)
	}
	got, err := open(t, dir, same).Specs()
	if err != nil || !proto.Equal(got["s1"], spec) {
		t.Errorf("got %v, %v", got, err)
	}
	// With another key, or moved to another service, it counts as missing.
	if err := os.Rename(filepath.Join(dir, "specs", "s1"), filepath.Join(dir, "specs", "s2")); err != nil {
		t.Fatal(err)
	}
	if got, err := open(t, dir, same).Specs(); err != nil || len(got) > 0 {
		t.Errorf("got %v, %v from a spec that was moved", got, err)
	}
	if err := open(t, dir).PutSpec(&agentv1.ServiceSpec{Id: "../s1"}); !errcode.Is(err, errcode.Invalid) {
		t.Errorf("got %v for an id that leaves the folder", err)
	}
}

func TestRemember(t *testing.T) {
	dir := t.TempDir()
	want := cache.Remembered{Signed: []byte{1, 2, 0}, ETag: `W/"x"`, Seen: "a.1", Deletes: "restored"}
	if err := open(t, dir).Remember(want); err != nil {
		t.Fatal(err)
	}
	got, err := open(t, dir).Recall()
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
	if err := os.WriteFile(filepath.Join(dir, "list.json"), []byte("{half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := open(t, dir).Recall(); err != nil || got.ETag != "" {
		t.Errorf("got %v, %v from a damaged file", got, err)
	}
}
