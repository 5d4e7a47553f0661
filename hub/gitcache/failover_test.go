package gitcache_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
)

// TestHeadThatTheDatabaseLostIsWrittenAgain plays a fail-over that loses the last seconds:
// the owner keeps its lease and what it remembers, but the rows are those of before.
// Nothing moves upstream meanwhile.
func TestHeadThatTheDatabaseLostIsWrittenAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1", "b/cm.yaml": "1"}, gitcache.ShortenGap)
	a, b := w.track("main", "a"), w.track("main", "b")
	first, sound := w.head(a, good), w.head(b, good)
	id := w.commit("main", map[string]gitserver.Content{"a/cm.yaml": "2", "b/Chart.yaml": "dependencies:\n- {name: ../../x, repository: \"https://charts.example.test\"}\n"})
	w.mustRefresh()
	w.head(a, at(id))
	w.head(b, bad)

	w.must(w.store.WriteHeads(t.Context(), w.repo.ID, first.Epoch, []gitcache.Head{first, sound}, nil))
	w.mustRefresh()
	w.head(a, at(id))
	w.head(b, bad)
	// What is right is not worked out at each read.
	written := w.store.Calls("WriteHeads")
	w.mustRefresh()
	if n := w.store.Calls("WriteHeads") - written; n != 0 {
		t.Errorf("%d writes of heads that are right", n)
	}
}

// TestUpstreamIsCheckedWhenItWasRead holds that the time in the health is that of the read, and
// not of the end of the pass: rows may have been lost between them.
func TestUpstreamIsCheckedWhenItWasRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1"}, gitcache.ShortenGap)
	w.head(w.track("main", "a"), good)
	before, loaded := w.health().CheckedAt, time.Time{}
	w.store.FailWith(func(method string) error {
		if method == "Heads" {
			loaded = time.Now()
		}
		return nil
	})
	w.mustRefresh()
	eventually.For(t, patience, "the health of this pass", func() error {
		if at := w.health().CheckedAt; !at.After(before) {
			return fmt.Errorf("it is of %s", at)
		}
		return nil
	})
	w.store.FailWith(nil)
	if at := w.health().CheckedAt; loaded.IsZero() || !at.Before(loaded) {
		t.Errorf("checked at %s, although the heads were read at %s", at, loaded)
	}
}
