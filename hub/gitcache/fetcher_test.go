package gitcache_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
)

// noise is text that does not compress, so that a slow server needs time.
func noise(bytes int) string {
	var b strings.Builder
	for b.Len() < bytes {
		fmt.Fprintf(&b, "%016x", rand.Uint64())
	}
	return b.String()
}

// TestOneFetcherPerRepository checks the promise to upstreams, by their own
// log: fifty followed folders and forty impatient users cause fetches that
// begin at least 5 s apart and never overlap, even when the hub is killed in
// the middle of one and started again.
func TestOneFetcherPerRepository(t *testing.T) {
	t.Parallel()
	git := newGit(t, gitserver.Config{})
	store := NewMemory(nil)
	repo := createRepository(t, store, git.URL(repoName))
	files := map[string]gitserver.Content{"noise": noise(1 << 20)}
	sources := make([]gitcache.Source, 50)
	for i := range sources {
		folder := fmt.Sprintf("apps/%02d", i)
		files[folder+"/cm.yaml"] = folder
		sources[i], _ = gitcache.NewSource(repo.ID, "main", folder, nil)
		if err := store.PutSource(t.Context(), sources[i]); err != nil {
			t.Fatal(err)
		}
	}
	commit := func(files map[string]gitserver.Content) string {
		id, err := git.Commit(t.Context(), repoName, "main", "change", files)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	commit(files)
	git.SetFault(repoName, gitserver.Fault{Only: gitserver.Fetch, BytesPS: 100 << 10})
	hub := newHub(t, store, hubConfig{Replica: "hub-0"})
	eventually.For(t, patience, "the first fetch", func() error { return fetching(git) })
	stop := kicks(t, store, repo.ID)
	hub.kill()
	eventually.For(t, patience, "the end of the killed hub's fetch", func() error {
		if fetching(git) == nil {
			return errors.New("git lives on")
		}
		return nil
	})
	hub.start()
	eventually.For(t, patience, "the fetch after the kill", func() error {
		if git.Count(repoName, gitserver.Fetch) < 2 {
			return errors.New("not yet")
		}
		return fetching(git)
	})
	hub.kill()
	git.SetFault(repoName, gitserver.Fault{})
	hub.start()
	var last string
	for i := range 3 {
		last = commit(map[string]gitserver.Content{"apps/07/cm.yaml": fmt.Sprint(i)})
		eventually.For(t, patience, "the commit to be seen", func() error { return atRevision(store, sources[7], last) })
	}
	stop()
	for _, s := range sources {
		if h, err := store.Head(t.Context(), s.ID); err != nil || good(h) != nil {
			t.Errorf("%s: %+v, %v", s.Folder, h, err)
		}
	}
	if n := git.Count(repoName, gitserver.Fetch); n < 5 {
		t.Errorf("only %d fetches; the test proves little", n)
	}
	if err := oneFetcher(git); err != nil {
		t.Error(err)
	}
}

// oneFetcher judges the server's log.
func oneFetcher(git *gitserver.Server) error {
	return errors.Join(
		git.CheckSpacing(repoName, record.FetchGap, gitserver.Fetch),
		git.CheckSpacing(repoName, 0, gitserver.Fetch, gitserver.LsRefs))
}

func fetching(git *gitserver.Server) error {
	for _, e := range git.Log(repoName) {
		if e.Kind == gitserver.Fetch && e.End.IsZero() && time.Since(e.Start) > 300*time.Millisecond {
			return nil
		}
	}
	return errors.New("no fetch runs")
}

func atRevision(store *Memory, s gitcache.Source, revision string) error {
	h, err := store.Head(context.Background(), s.ID)
	if err != nil {
		return err
	}
	return at(revision)(h)
}

// kicks are forty users who press refresh all the time.
func kicks(t *testing.T, store *Memory, repositoryID string) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			for ctx.Err() == nil {
				_ = store.RequestKick(ctx, repositoryID)
				select {
				case <-ctx.Done():
				case <-time.After(100 * time.Millisecond):
				}
			}
		})
	}
	return func() { cancel(); wg.Wait() }
}

// TestOneFetcherPerRepositoryCatchesTwo breaks the rule: two hubs that do not
// share a store follow one repository, and the log shows it.
func TestOneFetcherPerRepositoryCatchesTwo(t *testing.T) {
	t.Parallel()
	git := newGit(t, gitserver.Config{})
	if _, err := git.Commit(t.Context(), repoName, "main", "one", map[string]gitserver.Content{"a/x": noise(200 << 10)}); err != nil {
		t.Fatal(err)
	}
	git.SetFault(repoName, gitserver.Fault{Only: gitserver.Fetch, BytesPS: 100 << 10})
	for i := range 2 {
		store := NewMemory(nil)
		createRepository(t, store, git.URL(repoName))
		newHub(t, store, hubConfig{Replica: fmt.Sprintf("hub-%d", i)})
	}
	eventually.For(t, patience, "both fetches", func() error {
		if git.Count(repoName, gitserver.Fetch) < 2 {
			return errors.New("not yet")
		}
		return nil
	})
	if err := oneFetcher(git); err == nil {
		t.Error("two fetchers were not noticed")
	}
}

// TestConcurrentRefreshesAreOne checks that waiting users share passes.
func TestConcurrentRefreshesAreOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1"})
	w.head(w.track("main", "a"), good)
	before := w.git.Count(repoName, gitserver.LsRefs)
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			if err := w.refresh(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := w.git.Count(repoName, gitserver.LsRefs) - before; n < 1 || n > 2 {
		t.Errorf("40 refreshes at once listed refs %d times", n)
	}
	// A commit that is already here needs no request.
	id, err := w.git.Resolve(t.Context(), repoName, "main")
	if err != nil {
		t.Fatal(err)
	}
	before = w.git.Count(repoName, gitserver.LsRefs)
	if err := w.cache.RefreshAndWait(t.Context(), w.repo.ID, id); err != nil {
		t.Error(err)
	}
	if n := w.git.Count(repoName, gitserver.LsRefs) - before; n != 0 {
		t.Errorf("a known commit listed refs %d times", n)
	}
}
