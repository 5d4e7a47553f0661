package gitagent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache/gitagent"
	"github.com/axle-cd/axle/hub/gitcache/mirror"
	"github.com/axle-cd/axle/internal/errcode"
)

// disks are two folders with mirrors of one repository, and the commits that
// made them.
type disks struct {
	t        *testing.T
	from, to gitagent.Copy
	bytes    int // of the last copy
}

func newDisks(t *testing.T) *disks {
	t.Helper()
	mirrors, dir := mirror.NewPool(nil), t.TempDir()
	d := &disks{t: t, from: gitagent.Copy{Mirrors: mirrors, Dir: filepath.Join(dir, "from.git")}, to: gitagent.Copy{Mirrors: mirrors, Dir: filepath.Join(dir, "to.git")}}
	if _, err := mirrors.Open(t.Context(), d.from.Dir, "sha1"); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *disks) git(dir, in string, args ...string) string {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), "git", append([]string{"--git-dir=" + dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x")
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit makes a commit with one file and points a ref at it.
func (d *disks) commit(ref, parent, text string) string {
	d.t.Helper()
	blob := d.git(d.from.Dir, text, "hash-object", "-w", "--stdin")
	tree := d.git(d.from.Dir, fmt.Sprintf("100644 blob %s\tfile\n", blob), "mktree")
	args := []string{"commit-tree", "-m", text, tree}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	id := d.git(d.from.Dir, "", args...)
	d.git(d.from.Dir, "", "update-ref", ref, id)
	return id
}

// fetch copies in this process, through a change of the bytes on the way.
func (d *disks) fetch(spoil func([]byte) []byte) gitagent.Fetch {
	return func(ctx context.Context, refs string, haves []string, take func(io.Reader) error) (bool, error) {
		var out bytes.Buffer
		same, err := d.from.Write(ctx, refs, haves, &out)
		if err != nil || same {
			return same, err
		}
		data := out.Bytes()
		if spoil != nil {
			data = spoil(data)
		}
		d.bytes = len(data)
		return false, take(bytes.NewReader(data))
	}
}

func (d *disks) sync() bool {
	d.t.Helper()
	same, err := d.to.Sync(d.t.Context(), d.fetch(nil))
	if err != nil {
		d.t.Fatal(err)
	}
	return same
}

func (d *disks) equal() {
	d.t.Helper()
	from, to := d.git(d.from.Dir, "", "for-each-ref"), d.git(d.to.Dir, "", "for-each-ref")
	if from != to {
		d.t.Errorf("refs differ:\n%s\n---\n%s", from, to)
	}
	d.git(d.to.Dir, "", "fsck", "--connectivity-only", "--no-dangling")
}

func TestCopyFollowsEveryChangeOfRefs(t *testing.T) {
	t.Parallel()
	d := newDisks(t)
	first := d.commit("refs/heads/main", "", strings.Repeat("first ", 5000))
	d.git(d.from.Dir, "", "symbolic-ref", "HEAD", "refs/heads/main")
	d.sync()
	d.equal()
	if !d.sync() {
		t.Error("a copy that lacks nothing was sent bytes")
	}
	second := d.commit("refs/heads/main", first, "second")
	d.git(d.from.Dir, "", "update-ref", "refs/axle/keep/"+first, first)
	d.git(d.from.Dir, "", "tag", "-a", "-m", "annotated", "v1", second)
	d.sync()
	d.equal()
	if d.bytes > 3000 {
		t.Errorf("a small commit was copied with %d bytes", d.bytes)
	}
	// A force-push to an unrelated commit, a branch that becomes a folder, and
	// a ref that only moves to what is there.
	d.commit("refs/heads/main", "", "other")
	d.git(d.from.Dir, "", "update-ref", "refs/heads/x", first)
	d.sync()
	d.git(d.from.Dir, "", "update-ref", "-d", "refs/heads/x")
	d.git(d.from.Dir, "", "update-ref", "refs/heads/x/y", first)
	d.sync()
	d.equal()
	if got := d.git(d.to.Dir, "", "symbolic-ref", "HEAD"); got != "refs/heads/main" {
		t.Errorf("default branch is %q", got)
	}
	if d.from.Refs(t.Context()) != d.to.Refs(t.Context()) || d.to.Refs(t.Context()) == "" {
		t.Error("the hashes of equal refs differ")
	}
	// The keep ref holds what the force-push left.
	d.git(d.to.Dir, "", "cat-file", "-e", first)
}

func TestCopyThatIsSpoiledChangesNoRef(t *testing.T) {
	t.Parallel()
	d := newDisks(t)
	first := d.commit("refs/heads/main", "", strings.Repeat("first ", 5000))
	d.sync()
	d.commit("refs/heads/main", first, strings.Repeat("second ", 4000))
	for name, spoil := range map[string]func([]byte) []byte{
		"cut in the refs":   func(b []byte) []byte { return b[:30] },
		"cut in the pack":   func(b []byte) []byte { return b[:len(b)-15] },
		"a byte of another": func(b []byte) []byte { b[len(b)-40] ^= 1; return b },
		"another version":   func(b []byte) []byte { return append([]byte("axle-mirror 9"), b[13:]...) },
	} {
		before := d.to.Refs(t.Context())
		if _, err := d.to.Sync(t.Context(), d.fetch(spoil)); err == nil {
			t.Errorf("%s: no error", name)
		}
		if d.to.Refs(t.Context()) != before {
			t.Errorf("%s: refs moved", name)
		}
	}
	d.sync()
	d.equal()
}

func TestEmptyMirrorIsNotCopied(t *testing.T) {
	t.Parallel()
	d := newDisks(t)
	if _, err := d.to.Sync(t.Context(), d.fetch(nil)); !errcode.Is(err, errcode.NotFound) {
		t.Errorf("copy of an empty mirror: %v", err)
	}
	d.commit("refs/heads/main", "", "first")
	d.sync()
	// The disk of the owner was replaced.
	if err := errors.Join(os.RemoveAll(d.from.Dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.to.Sync(t.Context(), d.fetch(nil)); !errcode.Is(err, errcode.NotFound) {
		t.Errorf("copy of nothing: %v", err)
	}
	if !d.to.Exists(t.Context()) {
		t.Error("the second copy is gone too")
	}
}

// A second copy that lost objects requests everything.
func TestBrokenCopyIsMadeWhole(t *testing.T) {
	t.Parallel()
	d := newDisks(t)
	first := d.commit("refs/heads/main", "", strings.Repeat("first ", 5000))
	d.sync()
	packs, err := filepath.Glob(filepath.Join(d.to.Dir, "objects/pack/*"))
	if err != nil || len(packs) == 0 {
		t.Fatal(packs, err)
	}
	for _, p := range packs {
		if err := os.Remove(p); err != nil {
			t.Fatal(err)
		}
	}
	d.commit("refs/heads/main", first, strings.Repeat("first ", 5000)+"second")
	d.sync()
	d.equal()
}
