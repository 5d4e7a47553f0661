package gitcachetest

import (
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
)

// suiteLeaseBatch checks that many leases are acquired and released at once, on
// a store with the repository "a", which nobody holds yet.
func suiteLeaseBatch(t *testing.T, s gitcache.Store) {
	ctx := t.Context()
	create(t, s, "b")
	create(t, s, "c")
	theirs := acquire(t, s, "c", second)
	epochs, err := s.Acquire(ctx, []string{"c", "none", "b"}, first, time.Minute, 0)
	check(t, err)
	equal(t, map[string]int64{"b": 1}, epochs)
	check(t, s.Release(ctx, map[string]int64{"b": 1, "c": theirs, "none": 7}, first))
	free, err := s.Acquire(ctx, []string{"a", "b", "c"}, gitcache.Holder{Replica: "hub-9", Boot: "x"}, time.Millisecond, 0)
	check(t, err)
	equal(t, map[string]int64{"a": 1, "b": 2}, free)
	check(t, s.Release(ctx, free, gitcache.Holder{Replica: "hub-9", Boot: "x"}))
	check(t, record.ReleaseOne(ctx, s, "c", second, theirs))
}
