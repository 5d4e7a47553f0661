package gitcache_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
)

// TestAttributesAreNotApplied checks that a file has its committed content,
// whatever attributes the repository sets for a checkout.
func TestAttributesAreNotApplied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{".gitattributes": "*.txt eol=crlf text\nhidden export-ignore\nsubst export-subst ident\n* filter=evil\n",
		"a/x.txt": "one\ntwo\n", "a/hidden": "here", "a/subst": "$Format:%H$ $Id$"}, gitcache.ShortenGap)
	s := w.track("main", "a")
	h := w.head(s, good)
	for path, want := range map[string]string{"x.txt": "one\ntwo\n", "hidden": "here", "subst": "$Format:%H$ $Id$"} {
		if got := w.content(h, path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	w.commit("main", map[string]gitserver.Content{".gitattributes": "*.txt eol=lf\n"})
	w.mustRefresh()
	if now := w.head(s, good); now != h {
		t.Errorf("a change of attributes changed the head to %+v", now)
	}
}

// TestPacksAreJoined checks that a mirror does not accumulate packs.
func TestPacksAreJoined(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "0"}, gitcache.ShortenGap)
	s := w.track("main", "a")
	first := w.head(s, good)
	most, packs := 0, 0
	var last string
	for i := range 24 {
		last = w.commit("main", map[string]gitserver.Content{"a/cm.yaml": fmt.Sprint(i + 1)})
		w.mustRefresh()
		w.head(s, at(last))
		found, err := filepath.Glob(filepath.Join(gitcache.Mirror(w.cache, w.repo.ID), "objects/pack/*.pack"))
		if err != nil {
			t.Fatal(err)
		}
		packs = len(found)
		most = max(most, packs)
	}
	if most < 15 || most > 21 || packs > 10 {
		t.Errorf("there were up to %d packs and are %d; want them joined when there are more than 20", most, packs)
	}
	// What was joined is read as before.
	if err := gitcache.Forget(w.cache, first.Digest); err != nil {
		t.Fatal(err)
	}
	if got := w.content(first, "cm.yaml"); got != "0" {
		t.Errorf("the first content is %q", got)
	}
}

// TestOversizedFetchIsCut checks the size limit of one fetch; git itself has
// none.
func TestOversizedFetchIsCut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1"}, gitcache.ShortenGap, gitcache.SmallFetches)
	s := w.track("main", "a")
	before := w.head(s, good)
	w.commit("main", map[string]gitserver.Content{"a/big": noise(2 << 20)})
	w.git.SetFault(repoName, gitserver.Fault{Only: gitserver.Fetch, BytesPS: 300 << 10})
	if err := w.refresh(); !errcode.Is(err, errcode.Unprocessable) || !strings.Contains(err.Error(), "more than 102400 bytes") {
		t.Errorf("error is %v", err)
	}
	if h := w.head(s, good); h != before {
		t.Errorf("head is %+v", h)
	}
	for _, e := range w.git.Log(repoName) {
		if e.Kind == gitserver.Fetch && e.Bytes > 1<<20 {
			t.Errorf("a fetch went on to %d bytes", e.Bytes)
		}
	}
}

// TestSecretIsInNoArgumentAndNoEnvironment reads every process of this machine
// while git fetches with a password.
func TestSecretIsInNoArgumentAndNoEnvironment(t *testing.T) {
	t.Parallel()
	const secret = "only-the-pipe-knows-6481"
	w := &world{t: t, git: newGit(t, gitserver.Config{Password: secret}), store: newStore(), dir: t.TempDir()}
	// The fetch must take longer than reading every process.
	w.commit("main", map[string]gitserver.Content{"a/cm.yaml": noise(4 << 20)})
	w.git.SetFault(repoName, gitserver.Fault{Only: gitserver.Fetch, BytesPS: 100 << 10})
	w.start(gitcache.ShortenGap)
	w.repo = w.create(gitcache.Credentials{Password: secret})
	eventually.For(t, patience, "a fetch", func() error { return fetching(w.git) })
	seen := 0
	for _, what := range []string{"cmdline", "environ"} {
		found, _ := filepath.Glob("/proc/[0-9]*/" + what)
		for _, p := range found {
			raw, err := os.ReadFile(p)
			if err != nil {
				continue
			}
			if strings.Contains(string(raw), "git-remote-http") || strings.Contains(string(raw), "GIT_ALLOW_PROTOCOL=http") {
				seen++
			}
			if strings.Contains(string(raw), secret) {
				t.Errorf("the secret is in %s", p)
			}
		}
	}
	if seen < 2 {
		t.Errorf("git was not among the processes seen (%d); the test shows nothing", seen)
	}
	w.git.SetFault(repoName, gitserver.Fault{})
	eventually.For(t, patience, "no secret on disk", func() error {
		return filepath.WalkDir(w.dir, func(p string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil
			}
			if raw, _ := os.ReadFile(p); strings.Contains(string(raw), secret) {
				return errors.New("the secret is in " + p)
			}
			return nil
		})
	})
}

// TestOtherObjectFormat follows a repository that is created again upstream
// with longer ids, which the old mirror cannot hold.
func TestOtherObjectFormat(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1"}, gitcache.ShortenGap)
	s := w.track("main", "a")
	w.head(s, good)
	if err := w.git.Delete(repoName); err != nil {
		t.Fatal(err)
	}
	if err := w.git.CreateSHA256(t.Context(), repoName); err != nil {
		t.Fatal(err)
	}
	id := w.commit("main", map[string]gitserver.Content{"a/cm.yaml": "2"})
	w.mustRefresh()
	if got := w.content(w.head(s, at(id)), "cm.yaml"); got != "2" {
		t.Errorf("content is %q", got)
	}
}
