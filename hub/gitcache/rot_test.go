package gitcache_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/tarball"
	"github.com/axle-cd/axle/test/gitserver"
)

// TestAFlippedByteInAPartIsMadeGood checks that a stored tarball which was
// corrupted on disk after it was verified does not prevent others that include
// it from being made: it is dropped and rebuilt.
func TestAFlippedByteInAPartIsMadeGood(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1"}, gitcache.ShortenGap)
	host := strings.TrimSuffix(w.git.URL(""), "/.git")
	theirs := "# " + noise(4<<20)
	commit := w.other("team/base", map[string]gitserver.Content{"kustomization.yaml": "resources: [cm.yaml]\n", "cm.yaml": theirs})
	w.commit("main", map[string]gitserver.Content{"v/kustomization.yaml": "resources:\n- " + host + "/team/base.git?ref=" + commit + "\n"})
	w.mustRefresh()
	s := w.track("main", "v")
	h := w.head(s, good)
	parts := 0
	a, err := w.store.Artifact(t.Context(), h.Digest)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range a.Recipe.Parts {
		f, err := w.cache.Fetch(t.Context(), p.Digest) // the bytes are seen to be right
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := tarball.Unpack(t.Context(), f, filepath.Join(t.TempDir(), "part"), tarball.Limits{}); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		parts++
		flip(t, stored(t, w, p.Digest))
	}
	if parts == 0 {
		t.Fatal("there are no parts, so this shows nothing")
	}
	if err := gitcache.Forget(w.cache, h.Digest); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, path := range w.list(h) {
		if strings.HasPrefix(path, ".axle/") && strings.HasSuffix(path, "/cm.yaml") {
			compared++
			if w.content(h, path) != theirs {
				t.Errorf("%s has other content than was committed", path)
			}
		}
	}
	if compared == 0 {
		t.Errorf("there is no copy among %v", w.list(h))
	}
}

// stored is the file of a tarball.
func stored(t *testing.T, w *world, d digest.Digest) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(gitcache.Stored(w.cache), "*", d.Hex()+".*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("files of %s: %v, %v", d, found, err)
	}
	return found[0]
}

// flip changes one bit of a file, far from its end.
func flip(t *testing.T, path string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/8] ^= 1
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSwappedOffsetsOfAnIndexDeliverNothingWrong checks that a pack index whose
// entries point at each other's bytes never delivers wrong content: each object
// is compared with its id when it is read, and the mirror is rebuilt.
func TestSwappedOffsetsOfAnIndexDeliverNothingWrong(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1", "b/one.yaml": "one one one", "b/two.yaml": "two two two"}, gitcache.ShortenGap)
	w.head(w.track("main", "a"), good)
	mirror := gitcache.Mirror(w.cache, w.repo.ID)
	id := func(path string) string { return strings.TrimSpace(run(t, mirror, "rev-parse", "main:"+path)) }
	swap(t, mirror, id("b/one.yaml"), id("b/two.yaml"))
	s := w.track("main", "b")
	h := w.head(s, func(h gitcache.Head) error {
		_ = w.refresh()
		return good(h)
	})
	for path, want := range map[string]string{"one.yaml": "one one one", "two.yaml": "two two two"} {
		if got := w.content(h, path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if state := w.health(); state.State != record.Pullable {
		t.Errorf("health is %+v", state)
	}
}

// swap exchanges the offsets of two objects in the index of the only pack, by
// the format's second version.
func swap(t *testing.T, mirror, a, b string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(mirror, "objects/pack/*.idx"))
	if err != nil || len(found) != 1 {
		t.Fatalf("indexes: %v, %v", found, err)
	}
	raw, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	const fanout = 8
	n := int(binary.BigEndian.Uint32(raw[fanout+255*4:]))
	names := raw[fanout+256*4:][:n*20]
	offsets := raw[fanout+256*4+n*24:][:n*4]
	at := func(id string) []byte {
		want, err := hex.DecodeString(id)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if bytes.Equal(names[i*20:][:20], want) {
				return offsets[i*4:][:4]
			}
		}
		t.Fatalf("%s is not in the index", id)
		return nil
	}
	x, y := at(a), at(b)
	for i := range x {
		x[i], y[i] = y[i], x[i]
	}
	if err := os.Chmod(found[0], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(found[0], raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAFlippedByteInAnLFSFileIsMadeGood is the same for the files behind
// pointers, which no pack has.
func TestAFlippedByteInAnLFSFileIsMadeGood(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1"}, gitcache.ShortenGap)
	pointer, err := w.git.PutLFS(repoName, []byte("the real bytes"))
	if err != nil {
		t.Fatal(err)
	}
	w.commit("main", map[string]gitserver.Content{".gitattributes": "*.bin filter=lfs -text\n", "b/model.bin": pointer, "b/x.yaml": "1"})
	w.mustRefresh()
	s := w.with("main", "b", record.SourceOptions{LFS: true})
	w.head(s, good)
	kept, err := filepath.Glob(filepath.Join(gitcache.Mirror(w.cache, w.repo.ID), "lfs/objects/*/*/*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept %v, %v", kept, err)
	}
	flip(t, kept[0])
	id := w.commit("main", map[string]gitserver.Content{"b/x.yaml": "2"})
	h := w.head(s, func(h gitcache.Head) error {
		_ = w.refresh()
		return at(id)(h)
	})
	if got := w.content(h, "model.bin"); got != "the real bytes" {
		t.Errorf("content is %q", got)
	}
}

// TestARottenMirrorIsMadeAgainWhenSomebodyAsks checks that an agent's request
// which finds the mirror unreadable triggers a check of it, without a poll.
func TestARottenMirrorIsMadeAgainWhenSomebodyAsks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1"}, gitcache.ShortenGap)
	h := w.head(w.track("main", "a"), good)
	packs, err := filepath.Glob(filepath.Join(gitcache.Mirror(w.cache, w.repo.ID), "objects/pack/*.pack"))
	if err != nil || len(packs) == 0 {
		t.Fatalf("packs: %v, %v", packs, err)
	}
	for _, p := range packs {
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		copy(raw[12:], bytes.Repeat([]byte{0x55}, len(raw)-40))
		if err := errors.Join(os.Chmod(p, 0o600), os.WriteFile(p, raw, 0o600), gitcache.Forget(w.cache, h.Digest)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.cache.Fetch(t.Context(), h.Digest); !errcode.Is(err, errcode.Unavailable) || errcode.RetryAfter(err) == 0 {
		t.Errorf("the first who asks hears %v", err)
	}
	eventually.For(t, patience, "the content is served again", func() error {
		f, err := w.cache.Fetch(t.Context(), h.Digest)
		if err == nil {
			err = f.Close()
		}
		return err
	})
}
