package gitcache_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/test/gitserver"
)

func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"--git-dir=."}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func gc(t *testing.T, mirror string) {
	t.Helper()
	run(t, mirror, "reflog", "expire", "--expire=now", "--all")
	run(t, mirror, "gc", "-q", "--prune=now")
}

// TestHostileTreeIsRefused checks that a tree with ".." as a name never gets
// into a mirror, and that the repository's status says so.
func TestHostileTreeIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1"}, gitcache.ShortenGap)
	s := w.track("main", "a")
	before := w.head(s, good)
	blob, err := w.git.Blob(t.Context(), repoName, "evil")
	if err != nil {
		t.Fatal(err)
	}
	for name, entry := range map[string]gitserver.TreeEntry{
		"parent": {Mode: "100644", Name: "..", ID: blob},
		"slash":  {Mode: "100644", Name: "x/../../y", ID: blob},
	} {
		tree, err := w.git.RawTree(t.Context(), repoName, entry)
		if err != nil {
			t.Fatal(err)
		}
		top, err := w.git.RawTree(t.Context(), repoName, gitserver.TreeEntry{Mode: "40000", Name: "a", ID: tree})
		if err != nil {
			t.Fatal(err)
		}
		id, err := w.git.CommitTree(t.Context(), repoName, top, "evil")
		if err != nil {
			t.Fatal(err)
		}
		if err := w.git.SetRef(t.Context(), repoName, "refs/heads/main", id); err != nil {
			t.Fatal(err)
		}
		if err := w.refresh(); err == nil {
			t.Errorf("%s: fetched", name)
		}
		if h := w.health(); h.State != record.Failed || !strings.Contains(h.Message, "fsck") {
			t.Errorf("%s: health is %+v", name, h)
		}
		if h := w.head(s, good); h != before {
			t.Errorf("%s: head is %+v", name, h)
		}
	}
}

// TestWrongCredentials checks that the error says what is wrong, and never
// contains the secret.
func TestWrongCredentials(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-Passw0rd-of-mine"
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1"}, gitcache.ShortenGap)
	w.git.SetPassword("deploy", "right")
	r, err := w.cache.UpdateRepository(t.Context(), w.repo, &gitcache.Credentials{Username: "deploy", Password: secret})
	if err != nil || r.Auth != record.AuthBasic {
		t.Fatalf("%v, auth %q", err, r.Auth)
	}
	s := w.track("main", "a")
	err = w.refresh()
	if !errcode.Is(err, errcode.Unauthorized) {
		t.Fatalf("error is %v", err)
	}
	health := w.health()
	if !strings.Contains(health.Message, "refuses the credentials") || health.State != record.Failed {
		t.Errorf("health is %+v", health)
	}
	for _, text := range []string{err.Error(), health.Message, strings.Join(w.store.Feed(), "\n")} {
		if strings.Contains(text, secret) {
			t.Errorf("the secret is in %q", text)
		}
	}
	// The right ones heal it, without a restart, fetch included.
	w.commit("main", map[string]gitserver.Content{"a/cm.yaml": "2"})
	if _, err := w.cache.UpdateRepository(t.Context(), r, &gitcache.Credentials{Username: "deploy", Password: "right"}); err != nil {
		t.Fatal(err)
	}
	w.mustRefresh()
	if got := w.content(w.head(s, good), "cm.yaml"); got != "2" {
		t.Errorf("content is %q", got)
	}
}

// TestATokenAsUserReachesTheServer holds for the listing and for git's own fetch: a token that
// is given as the user, without a password, is sent as a password, and never without a user.
func TestATokenAsUserReachesTheServer(t *testing.T) {
	t.Parallel()
	for token, user := range map[string]string{"ghp_0123456789abcdef": "x-access-token", "glpat-0123456789": "x-access-token", strings.Repeat("0a", 20): "x-access-token", "ATCTT3xFf": "x-token-auth"} {
		w := &world{t: t, git: newGit(t, gitserver.Config{}), store: newStore(), dir: t.TempDir()}
		w.git.SetPassword(user, token)
		w.commit("main", map[string]gitserver.Content{"a/cm.yaml": "1"})
		w.start(gitcache.ShortenGap)
		w.repo = w.create(gitcache.Credentials{Username: token})
		s := w.track("main", "a")
		if got := w.content(w.head(s, good), "cm.yaml"); got != "1" || w.repo.Auth != record.AuthBasic {
			t.Errorf("%s: %q, %s", user, got, w.repo.Auth)
		}
	}
}

// TestHTTPSWithCredentialsAndCA goes the way of most repositories.
func TestHTTPSWithCredentialsAndCA(t *testing.T) {
	t.Parallel()
	w := &world{t: t, git: newGit(t, gitserver.Config{TLS: true, Password: "to/ken&<>'\""}), store: newStore(), dir: t.TempDir()}
	w.commit("main", map[string]gitserver.Content{"a/cm.yaml": "1"})
	w.start(gitcache.ShortenGap)
	w.repo = w.create(gitcache.Credentials{Password: "to/ken&<>'\"", CA: w.git.CA()})
	s := w.track("main", "a")
	w.head(s, good)
	id := w.commit("main", map[string]gitserver.Content{"a/cm.yaml": "2"})
	w.mustRefresh()
	w.head(s, at(id))
	if n := w.git.Count(repoName, gitserver.Refused); n > 2 {
		t.Errorf("%d requests came without credentials", n) // git's own fetches send one each
	}
	// Without the authority the certificate is not trusted.
	if _, err := w.cache.UpdateRepository(t.Context(), w.repo, &gitcache.Credentials{Password: "to/ken&<>'\""}); err != nil {
		t.Fatal(err)
	}
	if err := w.refresh(); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the CA: %v", err)
	}
}

// TestInternalAddressIsRefused checks that no tenant reaches the hub's own
// network, by address or by name.
func TestInternalAddressIsRefused(t *testing.T) {
	t.Parallel()
	git := newGit(t, gitserver.Config{})
	w := &world{t: t, git: git, store: newStore(), dir: t.TempDir()}
	w.start(gitcache.ShortenGap, func(c *gitcache.Config) { c.AllowUpstreamCIDRs = nil })
	for _, host := range []string{"127.0.0.1", "localhost"} {
		url := strings.Replace(git.URL(repoName), "127.0.0.1", host, 1)
		r, err := w.cache.CreateRepository(t.Context(), gitcache.Repository{Name: host, URL: url}, gitcache.Credentials{})
		if err != nil {
			t.Fatal(err)
		}
		w.repo = r
		err = w.refresh()
		if err == nil || !strings.Contains(err.Error(), "--allow-upstream-cidrs") {
			t.Errorf("%s: %v", host, err)
		}
	}
	if n := len(git.Log("")); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

// TestRedirectElsewhereIsRefused checks that credentials stay with their host.
func TestRedirectElsewhereIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1"}, gitcache.ShortenGap)
	other := newGit(t, gitserver.Config{})
	w.git.SetFault(repoName, gitserver.Fault{Status: 302, Header: map[string][]string{"Location": {other.URL(repoName) + "/info/refs?service=git-upload-pack"}}})
	err := w.refresh()
	if err == nil || !strings.Contains(err.Error(), "redirects to") {
		t.Errorf("error is %v", err)
	}
	if n := len(other.Log("")); n != 0 {
		t.Errorf("%d requests went to the other server", n)
	}
}

func TestRepositoryURLs(t *testing.T) {
	t.Parallel()
	w := &world{t: t, store: newStore(), dir: t.TempDir()}
	w.start(func(c *gitcache.Config) { c.AllowHTTP = false })
	for url, want := range map[string]string{
		"":                              "is empty",
		"http://git.example.com/a":      "plain http",
		"file:///etc":                   "scheme",
		"ext::sh -c id":                 "spaces",
		"ext::id":                       "scheme",
		"/srv/repo.git":                 "scheme",
		"--upload-pack=id":              "dash",
		"https://-x/a":                  "host",
		"https://git.example.com":       "names no repository",
		"https://git.example.com/a?x=1": "query",
		"https://git.example.com/a\nb":  "control",
		"ssh://-oProxyCommand=id/a":     "host",
		"ssh://git@git.example.com/a":   "known_hosts",
	} {
		_, err := w.cache.CreateRepository(t.Context(), gitcache.Repository{Name: "x", URL: url}, gitcache.Credentials{})
		if !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", url, err, want)
		}
	}
	r, err := w.cache.CreateRepository(t.Context(), gitcache.Repository{Name: "x", URL: " https://me@GIT.example.com:443/a/b.git/\n"}, gitcache.Credentials{Password: "pass"})
	if err != nil || r.URL != "https://git.example.com/a/b.git" || r.Written != "https://me@GIT.example.com:443/a/b.git/" || r.Auth != record.AuthBasic {
		t.Errorf("%+v, %v", r, err)
	}
	c, err := w.store.Credentials(t.Context(), r.ID)
	if err != nil || c.Username != "me" || c.Password != "pass" {
		t.Errorf("the user in the URL is not that of the credentials: %v", err)
	}
	r.Options.MaxBytes = 1 << 20
	if kept, err := w.cache.UpdateRepository(t.Context(), r, nil); err != nil || kept.Written != r.Written {
		t.Errorf("another change makes it %q, %v", kept.Written, err)
	}
	r.URL, r.Written = "https://git.example.com/a/b", ""
	kept, err := w.cache.UpdateRepository(t.Context(), r, nil)
	if err != nil || kept.URL != r.URL || kept.Written != r.URL || kept.Options.Moves != 0 {
		t.Errorf("another spelling makes it %+v, %v", kept, err)
	}
	if c, err := w.store.Credentials(t.Context(), r.ID); err != nil || c.Password != "pass" {
		t.Errorf("its credentials did not stay: %v", err)
	}
	r.URL = "https://me:pass@git.example.com/a/b"
	if _, err := w.cache.UpdateRepository(t.Context(), r, nil); !errcode.Is(err, errcode.Invalid) || strings.Contains(err.Error(), "pass@") {
		t.Errorf("a password in the URL: %v", err)
	}
}
