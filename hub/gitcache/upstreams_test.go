package gitcache_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/githubapp"
	"github.com/axle-cd/axle/test/gitserver"
)

// TestLifeOfRefs takes a repository through real changes of refs: each ends in
// the right head, or in a status that says what to do, and delivered content
// can still be rolled back to.
func TestLifeOfRefs(t *testing.T) {
	t.Parallel()
	const file = "a/cm.yaml"
	put := func(text string) map[string]gitserver.Content { return map[string]gitserver.Content{file: text} }
	for name, tt := range map[string]struct {
		ref    string
		before func(w *world) // makes the ref, beside main
		change func(w *world)
		text   string // of the head afterwards; empty is as before
		says   string // of the head's error, otherwise of the repository's health
		broken bool   // the repository cannot be read
	}{
		"force-push": {ref: "main", change: func(w *world) { w.set("refs/heads/main", w.orphan(put("new"))); w.collect() }, text: "new"},
		"deleted branch": {ref: "gone", before: func(w *world) { w.commit("gone", put("old")) },
			change: func(w *world) { w.unset("refs/heads/gone"); w.collect() }, says: `ref "gone" is not a branch, tag or full commit id of the repository; it has the branches: main; its default branch is main`},
		"branch that comes back": {ref: "gone", before: func(w *world) { w.commit("gone", put("old")) },
			change: func(w *world) {
				w.unset("refs/heads/gone")
				w.mustRefresh()
				w.set("refs/heads/gone", w.orphan(put("new")))
			}, text: "new"},
		"moved tag": {ref: "v1", before: func(w *world) { w.set("refs/tags/v1", w.orphan(put("old"))) },
			change: func(w *world) { w.set("refs/tags/v1", w.orphan(put("new"))); w.collect() }, text: "new"},
		"moved annotated tag": {ref: "v1", before: func(w *world) { w.tag("v1", w.orphan(put("old"))) },
			change: func(w *world) { w.tag("v1", w.orphan(put("new"))); w.collect() }, text: "new"},
		"tag of a tag": {ref: "v1", before: func(w *world) { w.tag("inner", w.orphan(put("old"))); w.tagOf("v1", "refs/tags/inner") },
			change: func(w *world) { w.tag("inner", w.orphan(put("new"))); w.tagOf("v1", "refs/tags/inner") }, text: "new"},
		"renamed default branch": {ref: "main", change: func(w *world) {
			w.set("refs/heads/trunk", w.resolve("refs/heads/main"))
			w.setDefault("trunk")
			w.unset("refs/heads/main")
		}, says: `its default branch is trunk`},
		"renamed default branch, followed as HEAD": {ref: "HEAD", change: func(w *world) {
			w.set("refs/heads/trunk", w.orphan(put("new")))
			w.setDefault("trunk")
			w.unset("refs/heads/main")
		}, text: "new"},
		"default branch deleted, followed as HEAD": {ref: "HEAD", before: func(w *world) { w.commit("HEAD", put("of a branch HEAD")) }, change: func(w *world) {
			w.set("refs/heads/trunk", w.orphan(put("new")))
			w.setDefault("nope")
			w.unset("refs/heads/main")
		}, says: `ref "HEAD" means the default branch, and the repository has none (the last one, main, is gone); name a branch, or set the default branch there; it has the branches: HEAD`},
		"other ref": {ref: "refs/pull/7/head", before: func(w *world) { w.set("refs/pull/7/head", w.orphan(put("old"))) },
			change: func(w *world) { w.set("refs/pull/7/head", w.orphan(put("new"))) }, text: "new"},
		"deleted repository": {ref: "main", change: func(w *world) { w.must(w.git.Delete(repoName)) }, says: "does not exist, or the credentials may not see it", broken: true},
		"emptied repository": {ref: "main", change: func(w *world) { w.unset("refs/heads/main"); w.collect() }, says: "is not a branch"},
		"recreated repository": {ref: "main", change: func(w *world) {
			w.must(w.git.Delete(repoName))
			if err := w.refresh(); err == nil {
				w.t.Error("a deleted repository was read")
			}
			w.must(w.git.Create(w.t.Context(), repoName))
			w.commit("main", put("new"))
		}, text: "new"},
		"recreated in another format": {ref: "main", change: func(w *world) {
			w.must(w.git.Delete(repoName))
			w.must(w.git.CreateSHA256(w.t.Context(), repoName))
			w.commit("main", put("new"))
		}, text: "new"},
		"a tag of the branch's name":        {ref: "main", change: func(w *world) { w.tag("main", w.orphan(put("evil"))) }, says: `ref "main" is both a branch and a tag; write refs/heads/main or refs/tags/main`},
		"a branch of the tag's name":        {ref: "v1", before: func(w *world) { w.tag("v1", w.orphan(put("old"))) }, change: func(w *world) { w.commit("v1", put("evil")) }, says: "is both a branch and a tag"},
		"a tag beside the branch in full":   {ref: "refs/heads/main", change: func(w *world) { w.tag("main", w.orphan(put("evil"))); w.commit("main", put("new")) }, text: "new"},
		"a branch becomes a folder":         {ref: "rel", before: func(w *world) { w.commit("rel", put("old")) }, change: func(w *world) { w.unset("refs/heads/rel"); w.commit("rel/1", put("new")) }, says: "is not a branch"},
		"a tag becomes a branch":            {ref: "v1", before: func(w *world) { w.tag("v1", w.orphan(put("old"))) }, change: func(w *world) { w.unset("refs/tags/v1"); w.commit("v1", put("new")) }, text: "new"},
		"a branch that points at no commit": {ref: "v1", before: func(w *world) { w.tag("v1", w.orphan(put("old"))) }, change: func(w *world) { w.set("refs/tags/v1", w.blob("text")) }, says: "does not point at a commit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, put("old"), gitcache.ShortenGap)
			if tt.before != nil {
				tt.before(w)
			}
			w.mustRefresh()
			s := w.track(tt.ref, "a")
			old := w.head(s, good)
			tt.change(w)
			err := w.refresh()
			if (err != nil) != tt.broken {
				t.Fatalf("refresh: %v", err)
			}
			switch {
			case tt.text != "":
				now := w.head(s, func(h gitcache.Head) error {
					if h.Digest == old.Digest {
						return errcode.New(errcode.Internal, "the head did not move; error %q", h.Error)
					}
					return good(h)
				})
				if got := w.content(now, "cm.yaml"); got != tt.text {
					t.Errorf("content is %q, want %q", got, tt.text)
				}
			case tt.broken:
				if h := w.health(); h.State != record.Failed || !strings.Contains(h.Message, tt.says) || h.FailedSince.IsZero() {
					t.Errorf("health is %+v, want %q", h, tt.says)
				}
			default:
				h := w.head(s, saying(tt.says))
				if h.Digest != old.Digest || h.ErrorCode != errcode.Unprocessable || h.ErrorSince.IsZero() {
					t.Errorf("head is %+v", h)
				}
			}
			w.rollBack(old, "old")
		})
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) set(ref, id string) {
	w.t.Helper()
	w.must(w.git.SetRef(w.t.Context(), repoName, ref, id))
}
func (w *world) unset(ref string) {
	w.t.Helper()
	w.must(w.git.DeleteRef(w.t.Context(), repoName, ref))
}
func (w *world) tag(name, id string) {
	w.t.Helper()
	w.must(w.git.Tag(w.t.Context(), repoName, name, id))
}
func (w *world) tagOf(name, ref string) { w.t.Helper(); w.tag(name, w.resolve(ref)) }
func (w *world) collect()               { w.t.Helper(); w.must(w.git.Collect(w.t.Context(), repoName)) }
func (w *world) setDefault(branch string) {
	w.t.Helper()
	w.must(w.git.SetDefault(w.t.Context(), repoName, branch))
}
func (w *world) resolve(ref string) string {
	w.t.Helper()
	id, err := w.git.Resolve(w.t.Context(), repoName, ref)
	w.must(err)
	return id
}
func (w *world) blob(text string) string {
	w.t.Helper()
	id, err := w.git.Blob(w.t.Context(), repoName, text)
	w.must(err)
	return id
}

// orphan makes a commit without parents.
func (w *world) orphan(files map[string]gitserver.Content) string {
	w.t.Helper()
	id, err := w.git.CommitOn(w.t.Context(), repoName, "", "alone", files)
	w.must(err)
	return id
}

// rollBack fetches what was delivered before, although no tarball of it is
// left and all that no ref reaches has left the mirror.
func (w *world) rollBack(old gitcache.Head, text string) {
	w.t.Helper()
	for _, dir := range []string{gitcache.Mirror(w.cache, w.repo.ID), gitcache.Mirror(w.cache, w.repo.ID) + ".former"} {
		if _, err := os.Stat(dir); err == nil {
			gc(w.t, dir)
		}
	}
	w.must(gitcache.Forget(w.cache, old.Digest))
	if got := w.content(old, "cm.yaml"); got != text {
		w.t.Errorf("rolled back to %q, want %q", got, text)
	}
}

// TestRollBackToEachOfTwenty rewrites a branch twenty times and finds each.
func TestRollBackToEachOfTwenty(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "0"}, gitcache.ShortenGap)
	s := w.track("main", "a")
	heads := []gitcache.Head{w.head(s, good)}
	for i := range 20 {
		text := strings.Repeat("x", i+1)
		id := w.orphan(map[string]gitserver.Content{"a/cm.yaml": text})
		w.set("refs/heads/main", id)
		w.collect()
		w.mustRefresh()
		heads = append(heads, w.head(s, at(id)))
	}
	for i, h := range heads[1:] {
		w.rollBack(h, strings.Repeat("x", i+1))
	}
}

// TestDamagedMirrorIsMadeAgain breaks the mirror under a running hub, and once
// more while upstream is down.
func TestDamagedMirrorIsMadeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "old", "b/big": noise(300 << 10)}, gitcache.ShortenGap)
	a := w.track("main", "a")
	old := w.head(a, good)
	lost := w.orphan(map[string]gitserver.Content{"a/cm.yaml": "only here"})
	w.set("refs/heads/side", lost)
	w.mustRefresh()
	side := w.track("side", "a")
	kept := w.head(side, at(lost))
	w.unset("refs/heads/side")
	w.collect()
	w.mustRefresh()

	mirror := gitcache.Mirror(w.cache, w.repo.ID)
	damage(t, mirror)
	w.must(w.git.Down())
	big := w.track("main", "b") // must be read from the damaged pack
	w.head(big, bad)
	eventually.For(t, patience, "the damage is told", func() error {
		_ = w.refresh()
		if h := w.health(); !strings.Contains(h.Message, "cannot be read") && !strings.Contains(h.Message, "is damaged") {
			return errcode.New(errcode.Internal, "health is %+v", h)
		}
		if _, err := os.Stat(mirror + ".damaged"); err != nil {
			return err
		}
		return nil
	})
	// Upstream is down and the mirror is set aside: delivered content stays.
	if got := w.content(w.head(a, good), "cm.yaml"); got != "old" {
		t.Errorf("content is %q", got)
	}
	// A hub that starts in the middle of this continues it.
	w.stop()
	w.start(gitcache.ShortenGap)
	if got := w.content(w.head(a, good), "cm.yaml"); got != "old" {
		t.Errorf("content after a start is %q", got)
	}
	w.must(w.git.Up(t.Context()))
	w.mustRefresh()
	w.head(big, good)
	id := w.commit("main", map[string]gitserver.Content{"a/cm.yaml": "new"})
	w.mustRefresh()
	w.head(a, at(id))
	if h := w.health(); h.State != record.Pullable {
		t.Errorf("health is %+v", h)
	}
	if _, err := os.Stat(mirror + ".damaged"); err == nil {
		t.Error("the damaged mirror is still there")
	}
	w.rollBack(old, "old")
	w.rollBack(kept, "only here")
	run(t, mirror, "fsck", "--full", "--strict")
}

// damage overwrites bytes in the middle of the biggest pack of a mirror.
func damage(t *testing.T, mirror string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(mirror, "objects/pack/*.pack"))
	if err != nil || len(found) == 0 {
		t.Fatalf("%d packs, %v", len(found), err)
	}
	size := func(p string) int64 {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	biggest := slices.MaxFunc(found, func(a, b string) int { return int(size(a) - size(b)) })
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

// TestRestOfUpstreamIsKept checks that a server's rate limit is respected, by
// kicks too, until the repository's row changes.
func TestRestOfUpstreamIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1"}, gitcache.ShortenGap)
	w.head(w.track("main", "a"), good)
	w.git.SetFault(repoName, gitserver.TooMany(time.Hour))
	if err := w.refresh(); err == nil || !strings.Contains(err.Error(), "asks to come back later") {
		t.Fatalf("refresh: %v", err)
	}
	w.git.SetFault(repoName, gitserver.Fault{})
	w.git.Forget()
	for range 3 {
		if err := w.refresh(); err == nil || !strings.Contains(err.Error(), "asks to come back later") {
			t.Errorf("refresh: %v", err)
		}
	}
	if n := len(w.git.Log("")); n != 0 {
		t.Errorf("upstream was asked %d times", n)
	}
	if _, err := w.cache.UpdateRepository(t.Context(), w.repo, &gitcache.Credentials{Username: "another", Password: "pass"}); err != nil {
		t.Fatal(err)
	}
	w.mustRefresh()
}

// TestDiskBudget checks that a repository which exceeds its limit says so and
// keeps serving, and continues once it may.
func TestDiskBudget(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]func(*gitcache.Config){
		"each":  func(c *gitcache.Config) { c.MirrorBytes = 300 << 10 },
		"total": func(c *gitcache.Config) { c.MirrorsBytes = 300 << 10 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1"}, gitcache.ShortenGap, o)
			s := w.track("main", "a")
			before := w.head(s, good)
			id := w.commit("main", map[string]gitserver.Content{"a/cm.yaml": "2", "b/big": noise(4 << 20)})
			w.git.SetFault(repoName, gitserver.Fault{Only: gitserver.Fetch, BytesPS: 800 << 10})
			if err := w.refresh(); !errcode.Is(err, errcode.Exhausted) || !strings.Contains(err.Error(), "raise the repository's maxBytes") {
				t.Errorf("refresh: %v", err)
			}
			if h := w.health(); h.State != record.Failed || !strings.Contains(h.Message, "what was fetched stays in use") {
				t.Errorf("health is %+v", h)
			}
			if h := w.head(s, good); h != before {
				t.Errorf("head is %+v", h)
			}
			if name == "total" {
				return
			}
			w.git.SetFault(repoName, gitserver.Fault{})
			w.repo.Options.MaxBytes = 100 << 20
			if _, err := w.cache.UpdateRepository(t.Context(), w.repo, nil); err != nil {
				t.Fatal(err)
			}
			w.mustRefresh()
			w.head(s, at(id))
		})
	}
}

// TestPackBomb checks that an endless pack is cut off by its size.
func TestPackBomb(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1"}, gitcache.ShortenGap, func(c *gitcache.Config) { c.MirrorBytes = 8 << 20 })
	s := w.track("main", "a")
	before := w.head(s, good)
	id := w.commit("main", map[string]gitserver.Content{"a/cm.yaml": "2"})
	w.git.SetFault(repoName, gitserver.Fault{Bomb: 4 << 30})
	if err := w.refresh(); !errcode.Is(err, errcode.Exhausted) {
		t.Errorf("refresh: %v", err)
	}
	if h := w.head(s, good); h != before {
		t.Errorf("head is %+v", h)
	}
	w.git.SetFault(repoName, gitserver.Fault{})
	w.mustRefresh()
	w.head(s, at(id))
}

// TestAppAndProxy goes the whole way with a GitHub App behind a proxy.
func TestAppAndProxy(t *testing.T) {
	t.Parallel()
	app, err := githubapp.Start(t.Context(), githubapp.Config{Repository: repoName})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close() })
	proxy, err := gitserver.StartProxy(t.Context(), "http", "me", "proxy secret")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	w := &world{t: t, git: newGit(t, gitserver.Config{}), store: newStore(), dir: t.TempDir()}
	w.git.SetCheck(app.Valid)
	w.commit("main", map[string]gitserver.Content{"a/cm.yaml": "1"})
	w.start(gitcache.ShortenGap)
	w.repo, err = w.cache.CreateRepository(t.Context(), gitcache.Repository{Name: "app", URL: w.git.URL(repoName), Auth: record.AuthApp,
		Options: record.Options{Proxy: proxy.URL(), APIURL: app.URL()}},
		gitcache.Credentials{AppID: "1", InstallationID: "10", PrivateKey: app.PrivateKey(), ProxyUsername: "me", ProxyPassword: "proxy secret"})
	if err != nil {
		t.Fatal(err)
	}
	w.head(w.track("main", "a"), good)
	if len(proxy.Log()) == 0 || app.Issued() != 1 {
		t.Errorf("the proxy saw %v, %d tokens", proxy.Log(), app.Issued())
	}
	app.Fail(http.StatusUnauthorized)
	app.Revoke()
	w.commit("main", map[string]gitserver.Content{"a/cm.yaml": "2"})
	if err := w.refresh(); !errcode.Is(err, errcode.Unauthorized) || !strings.Contains(err.Error(), "refuses the GitHub App") || strings.Contains(err.Error(), "secret") {
		t.Errorf("refresh: %v", err)
	}
	if _, err := w.cache.CreateRepository(t.Context(), gitcache.Repository{Name: "bad", URL: w.git.URL(repoName), Auth: record.AuthApp},
		gitcache.Credentials{AppID: "1", PrivateKey: "no key"}); !errcode.Is(err, errcode.Invalid) {
		t.Errorf("a bad key: %v", err)
	}
}
