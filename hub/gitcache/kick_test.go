package gitcache_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
)

// TestKickDuringAFetchIsLookedAfter pushes while the fetch of an earlier push
// is running, which does not include the later one. The kicks of that time
// cause one more fetch, as soon as upstream may be contacted again, without a
// poll.
func TestKickDuringAFetchIsLookedAfter(t *testing.T) {
	t.Parallel()
	c := clock.NewManual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	w := &world{t: t, git: newGit(t, gitserver.Config{}), store: newStore(), dir: t.TempDir()}
	w.store.IgnoreGaps()
	w.commit("main", map[string]gitserver.Content{"a/cm.yaml": "1"})
	w.start(func(config *gitcache.Config) { config.Clock, config.PollInterval = c, time.Hour })
	w.repo = w.create(gitcache.Credentials{})
	s := w.track("main", "a")
	w.head(s, good)
	c.Advance(time.Minute)
	w.git.SetFault(repoName, gitserver.Fault{Only: gitserver.Fetch, Hang: true})
	first := w.commit("main", map[string]gitserver.Content{"a/cm.yaml": "2"})
	before := w.git.Count(repoName, gitserver.LsRefs)
	w.kick()
	eventually.For(t, patience, "the fetch", func() error { return fetching(w.git) })
	second := w.commit("main", map[string]gitserver.Content{"a/cm.yaml": "3"})
	for range 3 {
		w.kick()
	}
	w.git.SetFault(repoName, gitserver.Fault{})
	w.head(s, at(first))
	c.Advance(record.FetchGap)
	w.head(s, at(second))
	if n := w.git.Count(repoName, gitserver.LsRefs) - before; n != 2 {
		t.Errorf("%d looks for two pushes and four kicks", n)
	}
}

// kick is what a webhook does.
func (w *world) kick() {
	w.t.Helper()
	if err := w.cache.Refresh(w.t.Context(), w.repo.ID); err != nil {
		w.t.Fatal(fmt.Errorf("kick: %w", err))
	}
}
