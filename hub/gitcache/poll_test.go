package gitcache_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
)

// TestUpstreamPolledEveryTwoMinutesWithJitter checks the interval at which
// upstreams are polled, what is requested, and that nothing is fetched
// meanwhile.
func TestUpstreamPolledEveryTwoMinutesWithJitter(t *testing.T) {
	t.Parallel()
	w, intervals := polled(t, 12)
	if err := asPromised(intervals); err != nil {
		t.Error(err)
	}
	if n := w.git.Count(repoName, gitserver.Fetch); n != 1 {
		t.Errorf("%d fetches of a repository that did not change", n)
	}
	log := w.git.Log(repoName)
	for _, e := range log[len(log)-6:] {
		if e.Kind == gitserver.LsRefs && fmt.Sprint(e.Prefixes) != "[HEAD refs/heads/main refs/tags/main]" {
			t.Errorf("asked for %v", e.Prefixes)
		}
	}
}

// TestUpstreamPolledTooOftenIsNoticed breaks the rule.
func TestUpstreamPolledTooOftenIsNoticed(t *testing.T) {
	t.Parallel()
	_, intervals := polled(t, 4, func(c *gitcache.Config) { c.PollInterval = 30 * time.Second })
	if err := asPromised(intervals); err == nil {
		t.Errorf("intervals %v were taken for good", intervals)
	}
}

func asPromised(intervals []time.Duration) error {
	var errs []error
	different := false
	for _, d := range intervals {
		if d < 2*time.Minute || d >= 3*time.Minute {
			errs = append(errs, fmt.Errorf("an interval of %v, want 2 to 3 min", d))
		}
		different = different || d != intervals[0]
	}
	if !different {
		errs = append(errs, errors.New("all intervals are equal, want jitter"))
	}
	return errors.Join(errs...)
}

// polled moves the clock from poll to poll and returns the times between.
func polled(t *testing.T, polls int, options ...option) (*world, []time.Duration) {
	t.Helper()
	c := clock.NewManual(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	w := &world{t: t, git: newGit(t, gitserver.Config{}), store: newStore(), dir: t.TempDir()}
	w.store.IgnoreGaps()
	w.commit("main", map[string]gitserver.Content{"a/cm.yaml": "1"})
	w.start(append(options, func(config *gitcache.Config) { config.Clock = c })...)
	w.repo = w.create(gitcache.Credentials{})
	w.head(w.track("main", "a"), good)
	var intervals []time.Duration
	for range polls {
		var next time.Time
		count := w.git.Count(repoName, gitserver.LsRefs)
		eventually.For(t, patience, "the agent to wait", func() error {
			n, at := c.Waiting()
			if n == 0 {
				return errors.New("it does not wait yet")
			}
			if next = at; !at.After(c.Now()) {
				return errors.New("it is due")
			}
			return nil
		})
		// Short waits are those between a change of sources and its pass.
		wait := next.Sub(c.Now())
		c.Advance(wait)
		if wait < 10*time.Second {
			continue
		}
		intervals = append(intervals, wait)
		eventually.For(t, patience, "a poll", func() error {
			if now := w.git.Count(repoName, gitserver.LsRefs); now != count+1 {
				return fmt.Errorf("refs were listed %d times, want %d", now, count+1)
			}
			return nil
		})
		polledAt := c.Now()
		eventually.For(t, patience, "health", func() error {
			if h := w.health(); h.CheckedAt.Before(polledAt) {
				return fmt.Errorf("checked at %v, want %v", h.CheckedAt, polledAt)
			}
			return nil
		})
	}
	return w, intervals
}
