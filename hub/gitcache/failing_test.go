package gitcache_test

import (
	"context"
	"fmt"
	"path"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/test/gitserver"
)

// pester reports changed sources to the cache, like the feed when services come
// and go, until the time is over.
func (w *world) pester(for_ time.Duration) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), for_)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.cache.Changed("")
			w.cache.Changed(w.repo.ID)
		}
	}
}

// TestAFailingHostIsAskedLess checks that six repositories on a failing host
// are not fetched again and again because other services appear: their back-off
// and the host's stay.
func TestAFailingHostIsAskedLess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "one"})
	w.head(w.track("main", "a"), good)
	failing := newGit(t, gitserver.Config{})
	failing.SetFault("", gitserver.Fault{Status: 500})
	for i := range 6 {
		name := fmt.Sprintf("team/failing-%d", i)
		if err := failing.Create(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if _, err := w.cache.CreateRepository(t.Context(), gitcache.Repository{Name: path.Base(name), URL: failing.URL(name)}, gitcache.Credentials{}); err != nil {
			t.Fatal(err)
		}
	}
	w.pester(10 * time.Second)
	if n := failing.Count("", gitserver.Connect); n > 8 {
		t.Errorf("six repositories of a failing host were asked %d times in 10 s; want at most 8", n)
	} else {
		t.Logf("asked %d times", n)
	}
	if n := w.git.Count(repoName, gitserver.Connect); n > 2 {
		t.Errorf("the healthy one was asked %d times", n)
	}
}

// TestLFSOfAFailingServerIsAskedLess is the same for the files behind pointers,
// which are requested while sources are evaluated.
func TestLFSOfAFailingServerIsAskedLess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "one"}, gitcache.ShortenGap)
	w.mustRefresh()
	w.git.SetFault(repoName, gitserver.Fault{Only: gitserver.LFS, Status: 500})
	pointer, err := w.git.PutLFS(repoName, []byte("the real bytes"))
	if err != nil {
		t.Fatal(err)
	}
	w.commit("main", map[string]gitserver.Content{".gitattributes": "*.bin filter=lfs -text\n", "a/model.bin": pointer})
	w.mustRefresh()
	s := w.with("main", "a", record.SourceOptions{LFS: true})
	w.head(s, bad)
	w.pester(6 * time.Second)
	for range 2 { // as many as are left of the kicks without a wait
		_ = w.refresh() // a person, too
	}
	if n := w.git.Count(repoName, gitserver.LFS); n > 4 {
		t.Errorf("a failing LFS server was asked %d times in 6 s; want at most 4", n)
	} else {
		t.Logf("asked %d times", n)
	}
	w.git.SetFault(repoName, gitserver.Fault{})
	w.head(s, good)
}
