package gitcache_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/test/gitserver"
)

// signing are git's arguments to sign with an SSH key.
func signing(t *testing.T, dir, name string) (args []string, public string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen (apt-get install openssh-client): %v: %s", err, out)
	}
	raw, err := os.ReadFile(path + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	return []string{"-c", "gpg.format=ssh", "-c", "user.signingkey=" + path}, string(raw)
}

// TestSignedHeads checks that a head moves only to content that a trusted key
// signed.
func TestSignedHeads(t *testing.T) {
	t.Parallel()
	ada, public := signing(t, t.TempDir(), "ada")
	eve, _ := signing(t, t.TempDir(), "eve")
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "0"}, gitcache.ShortenGap)
	signed := func(who []string, branch, text string) string {
		t.Helper()
		plain := w.commit("draft", map[string]gitserver.Content{"a/cm.yaml": text})
		id, err := w.git.Git(t.Context(), repoName, nil, nil, append(who, "commit-tree", "-S", "-m", text, "-p", plain, plain+"^{tree}")...)
		w.must(err)
		id = strings.TrimSpace(id)
		w.set("refs/heads/"+branch, id)
		return id
	}
	first := signed(ada, "main", "1")
	w.repo.Options.Verify = record.Verify{Mode: "head", Keys: []string{public}}
	if _, err := w.cache.UpdateRepository(t.Context(), w.repo, nil); err != nil {
		t.Fatal(err)
	}
	w.mustRefresh()
	s := w.track("main", "a")
	before := w.head(s, at(first))
	refused := func(why, words, id string) {
		t.Helper()
		w.mustRefresh()
		h := w.head(s, saying(words))
		if h.Digest != before.Digest || h.Revision != before.Revision || !strings.Contains(h.Error, id) || h.ErrorCode != errcode.Unprocessable {
			t.Errorf("%s: head is %+v", why, h)
		}
	}
	refused("unsigned", "is not trusted: it is not signed", w.commit("main", map[string]gitserver.Content{"a/cm.yaml": "evil"}))
	id := signed(eve, "main", "eve's")
	refused("a stranger's", "signed by the SSH key SHA256:", id)
	second := signed(ada, "main", "2")
	w.mustRefresh()
	before = w.head(s, at(second))
	// Resolving once does not go around it.
	w.commit("main", map[string]gitserver.Content{"a/cm.yaml": "evil again"})
	w.mustRefresh()
	if _, err := w.cache.Resolve(t.Context(), s); err == nil || !strings.Contains(err.Error(), "not signed") {
		t.Errorf("resolve: %v", err)
	}

	w.repo.Options.Verify.Mode = "tag"
	if _, err := w.cache.UpdateRepository(t.Context(), w.repo, nil); err != nil {
		t.Fatal(err)
	}
	w.mustRefresh()
	w.head(s, saying("requires signed tags"))
	tag := func(who []string, name, target string) {
		t.Helper()
		_, err := w.git.Git(t.Context(), repoName, nil, nil, append(who, "tag", "-f", "-s", "-m", name, name, target)...)
		w.must(err)
	}
	tag(ada, "v1", first)
	tag(eve, "v2", second)
	w.tag("v3", second)
	w.set("refs/tags/v4", second)
	v1, v2, v3, v4 := w.track("v1", "a"), w.track("v2", "a"), w.track("v3", "a"), w.track("v4", "a")
	w.mustRefresh()
	w.head(v1, at(first))
	w.head(v2, saying("which is not trusted"))
	w.head(v3, saying("it is not signed"))
	w.head(v4, saying("is not an annotated tag"))
	tag(ada, "v1", second)
	w.mustRefresh()
	w.head(v1, at(second))

	for name, v := range map[string]record.Verify{"mode": {Mode: "both", Keys: []string{public}}, "no keys": {Mode: "head"}, "bad keys": {Mode: "tag", Keys: []string{"x"}}} {
		w.repo.Options.Verify = v
		if _, err := w.cache.UpdateRepository(t.Context(), w.repo, nil); !errcode.Is(err, errcode.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
