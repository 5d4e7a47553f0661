package mirror_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/gitexec"
	"github.com/axle-cd/axle/hub/gitcache/mirror"
	"github.com/axle-cd/axle/hub/gitcache/mirror/repack"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/test/gitserver"
)

func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"--git-dir=."}, args...)...)
	cmd.Dir = dir
	cmd.Env = gitexec.Environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func packs(t *testing.T, m *mirror.Mirror) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(m.Dir(), "objects/pack/*.pack"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestMirrorConfig checks the settings without which mirrors lose packs, run
// hooks or accept dangerous objects.
func TestMirrorConfig(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		m := newMirror(t, format)
		for key, want := range map[string]string{"core.bare": "true", "core.hooksPath": "/dev/null", "core.bigFileThreshold": "32m", "fetch.unpackLimit": "1", "transfer.unpackLimit": "1",
			"gc.auto": "0", "maintenance.auto": "false", "fetch.writeCommitGraph": "false", "transfer.fsckObjects": "true", "submodule.recurse": "false",
			"fetch.recurseSubmodules": "false", "core.fsync": "pack,pack-metadata,reference", "fetch.fsck.badTimezone": "ignore"} {
			if got := runGit(t, m.Dir(), "config", "--get", key); got != want {
				t.Errorf("%s is %q, want %q", key, got, want)
			}
		}
		if got := runGit(t, m.Dir(), "rev-parse", "--show-object-format"); got != format {
			t.Errorf("format is %s, want %s", got, format)
		}
		// A mirror of an older version gets the settings of this one.
		if err := os.WriteFile(filepath.Join(m.Dir(), "config"), []byte("[gc]\n\tauto = 6700\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := mirrors.Open(t.Context(), m.Dir(), format); err != nil {
			t.Fatal(err)
		}
		if got := runGit(t, m.Dir(), "config", "--get", "gc.auto"); got != "0" {
			t.Errorf("gc.auto is %s after opening", got)
		}
	}
	if _, err := mirrors.Open(t.Context(), filepath.Join(t.TempDir(), "x"), "md5"); !errcode.Is(err, errcode.Unprocessable) {
		t.Errorf("format md5: %v", err)
	}
}

// TestUpkeep reduces 30 packs to a few, then to one, during reads, and keeps
// unreachable objects for two weeks.
func TestUpkeep(t *testing.T) {
	t.Parallel()
	s := newGit(t)
	m := newMirror(t, "sha1")
	first := ""
	for i := range 30 {
		id := commit(t, s, "main", fmt.Sprint("change ", i))
		if first == "" {
			first = id
		}
		fetch(t, s, m, id)
	}
	lost, err := s.CommitOn(t.Context(), repo, "", "lost", map[string]gitserver.Content{"x": "y"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetRef(t.Context(), repo, "refs/heads/gone", lost); err != nil {
		t.Fatal(err)
	}
	pull(t, s, m)
	if n := len(packs(t, m)); n < 30 {
		t.Fatalf("%d packs", n)
	}
	old, fresh := filepath.Join(m.Dir(), "objects/pack/tmp_pack_old"), filepath.Join(m.Dir(), "objects/pack/tmp_pack_new")
	for _, p := range []string{old, fresh} {
		if err := os.WriteFile(p, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	stop, reading := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				reading <- nil
				return
			default:
			}
			if _, err := m.Object(t.Context(), first, "commit"); err != nil {
				reading <- err
				return
			}
		}
	}()
	if err := m.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(packs(t, m)); n > 3 {
		t.Errorf("%d packs after joining", n)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("an old temporary file stayed")
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Error("a file of a running fetch was removed")
	}
	if err := s.DeleteRef(t.Context(), repo, "refs/heads/gone"); err != nil {
		t.Fatal(err)
	}
	pull(t, s, m)
	if err := repack.Now(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if n := len(packs(t, m)); n > 2 {
		t.Errorf("%d packs after packing whole", n)
	}
	close(stop)
	if err := <-reading; err != nil {
		t.Errorf("reading meanwhile: %v", err)
	}
	if missing, err := m.Missing(t.Context(), []string{first, lost}); err != nil || len(missing) > 0 {
		t.Errorf("missing %v, %v", missing, err)
	}
	if err := m.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	// Nothing to do is done quickly, and again.
	if err := repack.Now(t.Context(), m); err != nil || len(packs(t, m)) > 2 {
		t.Errorf("again: %v, %d packs", err, len(packs(t, m)))
	}
}

// damage overwrites bytes in the middle of the biggest pack.
func damage(t *testing.T, m *mirror.Mirror) {
	t.Helper()
	biggest := biggestPack(t, m)
	raw, err := os.ReadFile(biggest)
	if err != nil {
		t.Fatal(err)
	}
	copy(raw[len(raw)/2:], bytes.Repeat([]byte{0x55}, 64))
	if err := os.Chmod(biggest, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(biggest, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

func biggestPack(t *testing.T, m *mirror.Mirror) string {
	t.Helper()
	size := func(p string) int64 {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	return slices.MaxFunc(packs(t, m), func(a, b string) int { return int(size(a) - size(b)) })
}

// TestDamageIsSeen checks that a broken pack makes its mirror suspect when it
// is read, that Verify finds it, and that intact objects can be rescued.
func TestDamageIsSeen(t *testing.T) {
	t.Parallel()
	s := newGit(t)
	m := newMirror(t, "sha1")
	first := commit(t, s, "main", "small")
	fetch(t, s, m, first)
	big := noise(200 << 10)
	second := commit(t, s, "main", big)
	pull(t, s, m)
	if err := m.Verify(t.Context()); err != nil || m.Suspect() != nil {
		t.Fatalf("whole: %v, suspect %v", err, m.Suspect())
	}
	damage(t, m)
	blob := runGit(t, m.Dir(), "rev-parse", second+":a/cm.yaml")
	if _, err := m.Object(t.Context(), blob, "blob"); err == nil {
		t.Error("the damaged blob was read")
	}
	if m.Suspect() == nil {
		t.Error("nothing suspects the mirror")
	}
	if err := m.Verify(t.Context()); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("verify: %v", err)
	}
	dir := m.Dir()
	if err := m.SetAside(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Object(t.Context(), first, "commit"); err != nil {
		t.Errorf("what is whole cannot be read: %v", err)
	}
	fresh, err := mirrors.Open(t.Context(), dir, "sha1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fresh.Close)
	if lost := fresh.Rescue(t.Context(), m.Dir(), []string{first, second}); !slices.Equal(lost, []string{second}) {
		t.Errorf("lost %v", lost)
	}
	if err := fresh.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	// A missing object is damage too, though each pack is whole.
	other := newMirror(t, "sha1")
	fetch(t, s, other, first)
	fetch(t, s, other, second)
	if err := other.Keep(t.Context(), []string{second}); err != nil {
		t.Fatal(err)
	}
	gone := biggestPack(t, other) // the other one may hold nothing that this one lacks
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(strings.TrimSuffix(gone, ".pack") + ".idx"); err != nil {
		t.Fatal(err)
	}
	if err := other.Verify(t.Context()); err == nil {
		t.Error("a missing object was not found")
	}
}

// noise is text that does not compress.
func noise(n int) string {
	var b strings.Builder
	x := uint64(88172645463325252)
	for b.Len() < n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		fmt.Fprintf(&b, "%016x", x)
	}
	return b.String()
}

// TestRefsOfAMirror covers names of all kinds, tags of tags, folders of
// branches in each other's way, and more at once than get files of their own.
func TestRefsOfAMirror(t *testing.T) {
	t.Parallel()
	s := newGit(t)
	m := newMirror(t, "sha1")
	id := commit(t, s, "main", "2")
	refs := map[string]string{"refs/pull/7/head": id}
	for i := range 600 {
		refs[fmt.Sprintf("refs/heads/feature/branch-%04d", i)] = id
	}
	if err := s.SetRefs(t.Context(), repo, refs); err != nil {
		t.Fatal(err)
	}
	if err := s.Tag(t.Context(), repo, "v1", id); err != nil {
		t.Fatal(err)
	}
	tag, _ := s.Resolve(t.Context(), repo, "refs/tags/v1")
	if err := s.Tag(t.Context(), repo, "v1-again", tag); err != nil {
		t.Fatal(err)
	}
	blob, err := s.Blob(t.Context(), repo, "no commit")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetRef(t.Context(), repo, "refs/tags/blob", blob); err != nil {
		t.Fatal(err)
	}
	table := pull(t, s, m)
	for ref, want := range map[string]string{"main": id, "HEAD": id, "v1": id, "v1-again": id, "refs/tags/v1-again": id, "feature/branch-0599": id, "refs/heads/feature/branch-0000": id, id: id} {
		if got, err := table.Resolve(ref); err != nil || got != want {
			t.Errorf("%s is %q, %v", ref, got, err)
		}
	}
	for ref, want := range map[string]string{"blob": "does not point at a commit", "feature": "is not a branch", "refs/pull/7/head": "is not a branch", "x": "its default branch is main"} {
		if _, err := table.Resolve(ref); !errcode.Is(err, errcode.Unprocessable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", ref, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(m.Dir(), "refs/heads/feature/branch-0001")); err == nil {
		t.Error("hundreds of refs lie in files of their own")
	}
	// All those make place for one of the name of their folder.
	for name := range refs {
		if err := s.DeleteRef(t.Context(), repo, name); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "2") {
			break
		}
	}
	left, _ := s.Git(t.Context(), repo, nil, nil, "for-each-ref", "--format=delete %(refname)", "refs/heads/feature/")
	if _, err := s.Git(t.Context(), repo, nil, []byte(left), "update-ref", "--stdin"); err != nil {
		t.Fatal(err)
	}
	if err := s.SetRef(t.Context(), repo, "refs/heads/feature", id); err != nil {
		t.Fatal(err)
	}
	if table = pull(t, s, m); table.Len() != 5 || table.Raw("refs/heads/feature") != id {
		t.Errorf("%d refs", table.Len())
	}
}

// TestPacksAreJoinedAgain joins packs whose joined pack already exists, and
// none of which is older than the new one, as when all are written in one
// second: only the joined pack remains.
func TestPacksAreJoinedAgain(t *testing.T) {
	t.Parallel()
	s := newGit(t)
	m := newMirror(t, "sha1")
	last := ""
	for i := range 25 {
		last = commit(t, s, "main", fmt.Sprint("change ", i))
		fetch(t, s, m, last)
	}
	dir := filepath.Join(m.Dir(), "objects/pack")
	kept := filepath.Join(t.TempDir(), "packs")
	if err := os.CopyFS(kept, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	written := time.Now().Add(time.Hour)
	for round := range 3 {
		if err := m.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(packs(t, m)); n != 1 {
			t.Fatalf("round %d: %d packs after joining", round, n)
		}
		if err := os.Remove(filepath.Join(dir, "multi-pack-index")); err != nil {
			t.Fatal(err)
		}
		// Restore the packs that were joined.
		found, err := os.ReadDir(kept)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			raw, err := os.ReadFile(filepath.Join(kept, f.Name()))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, f.Name()), raw, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		all, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			if err := os.Chtimes(filepath.Join(dir, f.Name()), written, written); err != nil {
				t.Fatal(err)
			}
		}
	}
	if missing, err := m.Missing(t.Context(), []string{last}); err != nil || len(missing) > 0 {
		t.Errorf("missing %v, %v", missing, err)
	}
}
