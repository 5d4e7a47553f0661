package cache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/agent/cache"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/tarball"
)

// packAll makes a tarball of sorted pairs of path and text.
func packAll(t *testing.T, files ...[2]string) (digest.Digest, []byte) {
	t.Helper()
	var out bytes.Buffer
	entries := iter.Seq2[tarball.Entry, error](func(yield func(tarball.Entry, error) bool) {
		for _, f := range files {
			if !yield(tarball.Entry{Path: f[0], Size: int64(len(f[1])), Body: strings.NewReader(f[1])}, nil) {
				return
			}
		}
	})
	d, _, err := tarball.Write(&out, entries, tarball.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d, out.Bytes()
}

// hub serves contents by digest and deltas, and records the requests.
type hub struct {
	whole  map[digest.Digest][]byte
	asked  []tarball.Request
	spoil  func(delta []byte) []byte
	cutAt  int // of the next answer, zero is never
	etag   string
	served []int // bytes read of each answer
}

func (h *hub) fetch(ctx context.Context, r tarball.Request) (*tarball.Download, error) {
	h.asked = append(h.asked, r)
	body, ok := h.whole[r.Digest]
	if !ok {
		return nil, errors.New("the hub does not have it")
	}
	d := &tarball.Download{Size: int64(len(body)), ETag: h.etag, From: "hub-0/disk"}
	if from, ok := h.whole[r.Have]; ok {
		var out bytes.Buffer
		if err := tarball.WriteDelta(ctx, &out, bytes.NewReader(from), bytes.NewReader(body), tarball.Delta{From: r.Have, To: r.Digest}); err != nil {
			return nil, err
		}
		body, d.Delta = out.Bytes(), true
		if h.spoil != nil {
			body = h.spoil(body)
		}
	}
	if r.Offset > 0 && r.ETag == h.etag {
		body, d.Offset = body[r.Offset:], r.Offset
	}
	h.served = append(h.served, 0)
	d.ReadCloser = &cutting{Reader: bytes.NewReader(body), left: h.cutAt, cut: h.cutAt > 0, n: &h.served[len(h.served)-1]}
	h.cutAt = 0
	return d, nil
}

// cutting breaks off after some bytes.
type cutting struct {
	io.Reader
	left int
	cut  bool
	n    *int
}

func (c *cutting) Read(p []byte) (int, error) {
	if c.cut {
		if c.left == 0 {
			return 0, errors.New("the connection was reset")
		}
		p = p[:min(len(p), c.left)]
	}
	n, err := c.Reader.Read(p)
	c.left -= n
	*c.n += n
	return n, err
}

func (c *cutting) Close() error { return nil }

func TestANewTreeComesAsADelta(t *testing.T) {
	big := strings.Repeat("kind: ConfigMap\n", 1000)
	a, bodyA := packAll(t, [2]string{"a/file.yaml", "one"}, [2]string{"big", big})
	b, bodyB := packAll(t, [2]string{"a/file.yaml", "two"}, [2]string{"big", big})
	flip := func(d []byte) []byte { d = bytes.Clone(d); d[len(d)-9] ^= 1; return d }
	tests := map[string]struct {
		spoil     func([]byte) []byte
		between   func(t *testing.T, c *cache.Cache, old cache.Tree) *cache.Cache
		haves     []digest.Digest // asked with, in order
		refusals  int
		forgotten bool // the old tree
	}{
		"good":         {haves: []digest.Digest{"", a}},
		"altered":      {spoil: flip, haves: []digest.Digest{"", a, ""}, refusals: 1},
		"other format": {spoil: func([]byte) []byte { return []byte("axle-delta 9\n") }, haves: []digest.Digest{"", a, ""}, refusals: 1},
		"old tree damaged": {between: func(t *testing.T, c *cache.Cache, old cache.Tree) *cache.Cache {
			if err := os.WriteFile(filepath.Join(old.Dir, "big"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			return c
		}, haves: []digest.Digest{"", a, ""}, refusals: 1},
		"list came first": {between: func(t *testing.T, c *cache.Cache, old cache.Tree) *cache.Cache {
			if err := c.Keep(map[string]digest.Digest{"s1": b}); err != nil {
				t.Fatal(err)
			}
			return c
		}, haves: []digest.Digest{"", a}},
		"service left": {between: func(t *testing.T, c *cache.Cache, old cache.Tree) *cache.Cache {
			if err := c.Keep(map[string]digest.Digest{"s2": b}); err != nil {
				t.Fatal(err)
			}
			return c
		}, haves: []digest.Digest{"", ""}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var transfers []cache.Transfer
			c := open(t, t.TempDir(), func(cfg *cache.Config) {
				cfg.Observe = func(x cache.Transfer) { transfers = append(transfers, x) }
			})
			h := &hub{whole: map[digest.Digest][]byte{a: bodyA, b: bodyB}, spoil: tt.spoil}
			old, err := c.Tree(t.Context(), "s1", a, h.fetch)
			if err != nil {
				t.Fatal(err)
			}
			old.Release()
			if tt.between != nil {
				c = tt.between(t, c, old)
			}
			tree, err := c.Tree(t.Context(), "s1", b, h.fetch)
			if err != nil || read(t, tree) != "two" {
				t.Fatalf("got %v", err)
			}
			var haves []digest.Digest
			refusals := 0
			for _, r := range h.asked {
				haves = append(haves, r.Have)
			}
			for _, x := range transfers {
				if x.Refused {
					refusals++
				}
			}
			if fmt.Sprint(haves) != fmt.Sprint(tt.haves) || refusals != tt.refusals {
				t.Errorf("asked with %v, want %v; %d refused, want %d", haves, tt.haves, refusals, tt.refusals)
			}
		})
	}
}

// TestDeltaAfterARestart: the applied revision names the service's previous content.
func TestDeltaAfterARestart(t *testing.T) {
	dir := t.TempDir()
	a, bodyA := packAll(t, [2]string{"a/file.yaml", "one"})
	b, bodyB := packAll(t, [2]string{"a/file.yaml", "two"})
	h := &hub{whole: map[digest.Digest][]byte{a: bodyA, b: bodyB}}
	c := open(t, dir)
	if _, err := c.Tree(t.Context(), "s1", a, h.fetch); err != nil {
		t.Fatal(err)
	}
	if err := c.PutApplied(map[string]cache.Applied{"s1": {TarballDigest: a.String()}}); err != nil {
		t.Fatal(err)
	}
	c = open(t, dir)
	if err := c.Keep(map[string]digest.Digest{"s1": b}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Tree(t.Context(), "s1", b, h.fetch); err != nil || h.asked[1].Have != a {
		t.Errorf("%v, asked %+v", err, h.asked)
	}
}

// noise is text that does not compress.
func noise(n int) string {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

func TestAnInterruptedDownloadGoesOn(t *testing.T) {
	d, body := packAll(t, [2]string{"a/file.yaml", "x"}, [2]string{"big", noise(3 << 20)})
	tests := map[string]struct {
		restart bool
		etag    string // of the second answer
		again   func(dir string)
		most    int // bytes in all, in percent of the body
	}{
		"same process":    {etag: `"1"`, most: 101},
		"after a restart": {restart: true, etag: `"1"`, most: 101},
		"other bytes":     {restart: true, etag: `"2"`, most: 170},
		"too old": {restart: true, etag: `"1"`, most: 170, again: func(dir string) {
			found, _ := filepath.Glob(filepath.Join(dir, "partial", "*"))
			for _, f := range found {
				old := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
				_ = os.Chtimes(f, old, old)
			}
		}},
		"spoiled on disk": {restart: true, etag: `"1"`, most: 270, again: func(dir string) {
			found, _ := filepath.Glob(filepath.Join(dir, "partial", "*"))
			for _, f := range found {
				if filepath.Ext(f) == "" {
					raw, _ := os.ReadFile(f)
					raw[1<<20] ^= 1
					_ = os.WriteFile(f, raw, 0o600)
				}
			}
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			h := &hub{whole: map[digest.Digest][]byte{d: body}, etag: `"1"`, cutAt: len(body) * 6 / 10}
			c := open(t, dir)
			if _, err := c.Tree(t.Context(), "s1", d, h.fetch); err == nil {
				t.Fatal("a download that was cut made a tree")
			}
			if tt.again != nil {
				tt.again(dir)
			}
			if tt.restart {
				c = open(t, dir, func(cfg *cache.Config) { cfg.Clock = clock.Real{} })
			}
			h.etag = tt.etag
			tree, err := c.Tree(t.Context(), "s1", d, h.fetch)
			if err != nil {
				// Damaged bytes are discarded and requested again.
				tree, err = c.Tree(t.Context(), "s1", d, h.fetch)
			}
			if err != nil || read(t, tree) != "x" {
				t.Fatal(err)
			}
			total := 0
			for _, n := range h.served {
				total += n
			}
			if total > len(body)*tt.most/100 {
				t.Errorf("%d bytes came for a tarball of %d: %v", total, len(body), h.served)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "partial", "*")); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestPartsOfUnwantedDownloadsGo(t *testing.T) {
	dir := t.TempDir()
	d, body := packAll(t, [2]string{"big", noise(2 << 20)})
	h := &hub{whole: map[digest.Digest][]byte{d: body}, etag: `"1"`, cutAt: 1 << 20}
	c := open(t, dir)
	if _, err := c.Tree(t.Context(), "s1", d, h.fetch); err == nil {
		t.Fatal("a download that was cut made a tree")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "partial", "*")); len(left) != 2 {
		t.Fatalf("kept are %v", left)
	}
	if err := c.Keep(nil); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "partial", "*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAlteredContentIsNamed(t *testing.T) {
	d, _ := packAll(t, [2]string{"a/file.yaml", "good"})
	_, other := packAll(t, [2]string{"a/file.yaml", "evil"})
	h := &hub{whole: map[digest.Digest][]byte{d: other}}
	_, err := open(t, t.TempDir()).Tree(t.Context(), "s1", d, h.fetch)
	var refused *cache.RefusedError
	if !errors.As(err, &refused) || refused.From != "hub-0/disk" || !strings.Contains(err.Error(), "hub-0/disk") {
		t.Errorf("got %v", err)
	}
}
