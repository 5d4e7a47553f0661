package gitcache_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
)

// moveTo gives the world's repository another URL.
func (w *world) moveTo(url string, c *gitcache.Credentials) error {
	w.t.Helper()
	r, err := w.cache.Repository(w.t.Context(), w.repo.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	r.URL = url
	_, err = w.cache.UpdateRepository(w.t.Context(), r, c)
	return err
}

// TestAMovedRepositoryShowsTheNewUpstreamAlone checks that content of the
// previous upstream is never shown as the new one's, not even while the new one
// cannot be read, and that delivered content remains servable.
func TestAMovedRepositoryShowsTheNewUpstreamAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "old"}, gitcache.ShortenGap)
	a := w.track("main", "a")
	before := w.head(a, good)
	if got := w.content(before, "cm.yaml"); got != "old" {
		t.Fatalf("content is %q", got)
	}
	next := newGit(t, gitserver.Config{})
	moved, err := next.Commit(t.Context(), repoName, "main", "moved", map[string]gitserver.Content{"a/cm.yaml": "new"})
	if err != nil {
		t.Fatal(err)
	}
	next.SetFault(repoName, gitserver.Fault{Status: 503})
	if err := w.moveTo(next.URL(repoName), nil); err != nil {
		t.Fatal(err)
	}
	// The new upstream is down: nothing is known about it.
	eventually.For(t, patience, "the new upstream is asked", func() error {
		if h := w.health(); h.State != record.Failed {
			return errors.New("health is " + string(h.State))
		}
		return nil
	})
	b := w.track("main", "")
	for _, s := range []gitcache.Source{a, b} {
		if h, err := w.cache.Head(t.Context(), s.ID); err == nil && h.Digest != "" || err != nil && !errcode.Is(err, errcode.NotFound) {
			t.Errorf("while the new upstream is away folder %q is at %s: %v", s.Folder, h.Revision, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if h, err := w.cache.Resolve(ctx, b); err == nil {
		t.Errorf("while the new upstream is away it resolves to %s", h.Revision)
	}
	if got := w.content(before, "cm.yaml"); got != "old" {
		t.Errorf("what was delivered is %q", got)
	}
	next.SetFault(repoName, gitserver.Fault{})
	if err := w.refresh(); err != nil {
		t.Fatal(err)
	}
	for _, s := range []gitcache.Source{a, b} {
		if h := w.head(s, good); h.Revision != moved {
			t.Errorf("folder %q is at %s, want %s", s.Folder, h.Revision, moved)
		}
	}
	if got := w.content(w.head(a, good), "cm.yaml"); got != "new" {
		t.Errorf("content is %q", got)
	}
}

// The right to change a repository does not include the right to learn its
// secrets.
func TestKeptCredentialsFollowNoChangedAddress(t *testing.T) {
	w := &world{t: t, git: newGit(t, gitserver.Config{Username: "ci", Password: "hunter2"}), store: newStore(), dir: t.TempDir()}
	w.commit("main", map[string]gitserver.Content{"a/cm.yaml": "x"})
	w.start(gitcache.ShortenGap)
	w.repo = w.create(gitcache.Credentials{Username: "ci", Password: "hunter2"})
	w.head(w.track("main", "a"), good)
	thief := newGit(t, gitserver.Config{})
	if err := w.moveTo(thief.URL(repoName), nil); !errcode.Is(err, errcode.Invalid) {
		t.Errorf("a new URL with the kept password: %v", err)
	}
	r, err := w.cache.Repository(t.Context(), w.repo.ID)
	if err != nil {
		t.Fatal(err)
	}
	r.Options.Proxy = "http://127.0.0.1:1"
	if _, err := w.cache.UpdateRepository(t.Context(), r, nil); !errcode.Is(err, errcode.Invalid) {
		t.Errorf("a proxy with the kept password: %v", err)
	}
	if err := w.refresh(); err != nil {
		t.Errorf("after what was refused: %v", err)
	}
	if err := w.moveTo(thief.URL(repoName), &gitcache.Credentials{Username: "ci", Password: "another"}); err != nil {
		t.Errorf("with the credentials given again: %v", err)
	}
}
