package gitcache_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/test/gitserver"
)

// sshKey makes a key of a kind.
func sshKey(t *testing.T, kind, passphrase string) (private, authorized string) {
	t.Helper()
	private, authorized, err := gitserver.SSHKey(t.Context(), t.TempDir(), kind, passphrase)
	if err != nil {
		t.Fatal(err)
	}
	return private, authorized
}

func TestSSHWithAKeyAndKnownHosts(t *testing.T) {
	t.Parallel()
	private, authorized := sshKey(t, "ed25519", "pass phrase")
	w := &world{t: t, git: newGit(t, gitserver.Config{SSH: true, AuthorizedKey: authorized}), store: newStore(), dir: t.TempDir()}
	w.commit("main", map[string]gitserver.Content{"a/cm.yaml": "1"})
	w.start(gitcache.ShortenGap)
	creds := gitcache.Credentials{PrivateKey: private, Passphrase: "pass phrase", KnownHosts: w.git.KnownHosts()}
	var err error
	w.repo, err = w.cache.CreateRepository(t.Context(), gitcache.Repository{Name: "app", URL: w.git.SSHURL(repoName)}, creds)
	if err != nil || w.repo.Auth != record.AuthSSH {
		t.Fatalf("%+v, %v", w.repo, err)
	}
	s := w.track("main", "a")
	w.head(s, good)
	id := w.commit("main", map[string]gitserver.Content{"a/cm.yaml": "2"})
	w.mustRefresh()
	w.head(s, at(id))
	if n := w.git.Count(repoName, gitserver.Fetch); n != 2 {
		t.Errorf("%d fetches over ssh", n)
	}

	// Another key is refused; another host is not trusted.
	other, _ := sshKey(t, "ed25519", "pass phrase")
	for name, wrong := range map[string]gitcache.Credentials{
		"key":  {PrivateKey: other, Passphrase: "pass phrase", KnownHosts: creds.KnownHosts},
		"host": {PrivateKey: private, Passphrase: "pass phrase", KnownHosts: strings.Replace(creds.KnownHosts, "]:", "]:1", 1)},
	} {
		if _, err := w.cache.UpdateRepository(t.Context(), w.repo, &wrong); err != nil {
			t.Fatal(err)
		}
		if err := w.refresh(); err == nil || strings.Contains(err.Error(), "pass phrase") {
			t.Errorf("wrong %s: %v", name, err)
		}
	}
}

func TestSHA256Repository(t *testing.T) {
	t.Parallel()
	w := &world{t: t, git: newGit(t, gitserver.Config{}), store: newStore(), dir: t.TempDir()}
	if err := w.git.CreateSHA256(t.Context(), "long"); err != nil {
		t.Fatal(err)
	}
	id, err := w.git.Commit(t.Context(), "long", "main", "one", map[string]gitserver.Content{"a/cm.yaml": "1"})
	if err != nil || len(id) != 64 {
		t.Fatalf("%s, %v", id, err)
	}
	w.start(gitcache.ShortenGap)
	w.repo, err = w.cache.CreateRepository(t.Context(), gitcache.Repository{Name: "long", URL: w.git.URL("long")}, gitcache.Credentials{})
	if err != nil {
		t.Fatal(err)
	}
	h := w.head(w.track("main", "a"), at(id))
	// The digest is of content: a repository with short ids has the same.
	other := newWorld(t, map[string]gitserver.Content{"x/cm.yaml": "1"}, gitcache.ShortenGap)
	if got := other.head(other.track("main", "x"), good); got.Digest != h.Digest {
		t.Errorf("digests %s and %s of one content", got.Digest, h.Digest)
	}
}

// TestCutAndGarbledFetches checks that an interrupted fetch changes nothing and
// that the next one completes it.
func TestCutAndGarbledFetches(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1"}, gitcache.ShortenGap)
	s := w.track("main", "a")
	before := w.head(s, good)
	id := w.commit("main", map[string]gitserver.Content{"a/cm.yaml": noise(300 << 10)})
	for name, f := range map[string]gitserver.Fault{
		"cut":   {Only: gitserver.Fetch, CutAt: 100 << 10},
		"html":  {Only: gitserver.Fetch, Body: "<html>\nsign in\n</html>"},
		"reset": {Only: gitserver.Fetch, Reset: true},
		"500":   {Only: gitserver.Fetch, Status: 500, Body: "boom"},
	} {
		w.git.SetFault(repoName, f)
		if err := w.refresh(); err == nil {
			t.Errorf("%s: the fetch went well", name)
		}
		if h := w.head(s, good); h != before {
			t.Errorf("%s: the head is %+v", name, h)
		}
	}
	w.git.SetFault(repoName, gitserver.Fault{})
	w.mustRefresh()
	w.head(s, at(id))
}

// TestBranchesComeAndGo covers names that conflict with each other.
func TestBranchesComeAndGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1"}, gitcache.ShortenGap)
	w.commit("release", map[string]gitserver.Content{"a/cm.yaml": "flat"})
	flat, deep := w.track("release", "a"), w.track("release/1.0", "a")
	w.mustRefresh()
	w.head(flat, good)
	w.head(deep, saying("is not a branch"))
	if err := w.git.DeleteRef(t.Context(), repoName, "refs/heads/release"); err != nil {
		t.Fatal(err)
	}
	w.commit("release/1.0", map[string]gitserver.Content{"a/cm.yaml": "deep"})
	w.mustRefresh()
	if got := w.content(w.head(deep, good), "cm.yaml"); got != "deep" {
		t.Errorf("release/1.0 has %q", got)
	}
	gone := w.head(flat, saying("is not a branch"))
	if got := w.content(gone, "cm.yaml"); got != "flat" {
		t.Errorf("the last good content is %q", got)
	}
	// A commit by its id works when no branch has it any more, if it is here.
	pinned := w.head(w.track(gone.Revision, "a"), good)
	if pinned.Digest != gone.Digest {
		t.Error("the commit has other content")
	}
}

// The big hosts need no known_hosts lines of a repository, and its own lines win.
func TestSSHWithoutKnownHosts(t *testing.T) {
	t.Parallel()
	private, _ := sshKey(t, "ed25519", "")
	w := &world{t: t, git: newGit(t, gitserver.Config{}), store: newStore(), dir: t.TempDir()}
	w.start()
	create := func(name, url, known string) error {
		_, err := w.cache.CreateRepository(t.Context(), gitcache.Repository{Name: name, URL: url}, gitcache.Credentials{PrivateKey: private, KnownHosts: known})
		return err
	}
	if err := create("published", "git@github.com:acme/fleet.git", ""); err != nil {
		t.Errorf("a host that publishes its keys: %v", err)
	}
	if err := create("own", "git@github.com:acme/fleet.git", "github.com notakey"); err == nil || !strings.Contains(err.Error(), "known_hosts cannot be read") {
		t.Errorf("lines of the repository do not win: %v", err)
	}
	if err := create("unknown", "git@git.example.test:acme/fleet.git", ""); err == nil || !strings.Contains(err.Error(), "privateKey and knownHosts of the manifest's Secret") {
		t.Errorf("another host: %v", err)
	}
}
