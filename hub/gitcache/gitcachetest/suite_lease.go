package gitcachetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

func suiteLease(t *testing.T, f Fixture) {
	ctx, s := t.Context(), f.Store
	create(t, s, "a")
	_, err := record.AcquireOne(ctx, s, "none", first, time.Minute, 0)
	wantCode(t, err, errcode.Conflict)
	suiteLeaseBatch(t, s)
	epoch := acquire(t, s, "a", first)
	_, err = record.AcquireOne(ctx, s, "a", second, time.Minute, 0)
	wantCode(t, err, errcode.Conflict)
	_, err = record.AcquireOne(ctx, s, "a", first, time.Minute, 0)
	wantCode(t, err, errcode.Conflict)
	held, err := s.Renew(ctx, first, time.Minute)
	check(t, err)
	equal(t, []gitcache.Held{{RepositoryID: "a", Epoch: epoch}}, held)
	check(t, record.ReleaseOne(ctx, s, "a", second, epoch))
	check(t, record.ReleaseOne(ctx, s, "a", first, epoch-1))
	if held, err = s.Renew(ctx, first, time.Minute); err != nil || len(held) != 1 {
		t.Fatalf("a release by others took the lease: %v, %v", held, err)
	}
	check(t, record.ReleaseOne(ctx, s, "a", first, epoch))
	if held, err = s.Renew(ctx, first, time.Minute); err != nil || len(held) != 0 {
		t.Fatalf("still held after the release: %v, %v", held, err)
	}
	if next := acquire(t, s, "a", second); next != epoch+1 {
		t.Fatalf("epoch %d after %d", next, epoch)
	}
}

func suiteFormerLife(t *testing.T, f Fixture) {
	create(t, f.Store, "a")
	epoch := acquire(t, f.Store, "a", first)
	next := acquire(t, f.Store, "a", gitcache.Holder{Replica: first.Replica, Boot: "later"})
	if next != epoch+1 {
		t.Fatalf("epoch %d after %d", next, epoch)
	}
	if held, err := f.Store.Renew(t.Context(), first, time.Minute); err != nil || len(held) != 0 {
		t.Fatalf("the former life still holds %v, %v", held, err)
	}
}

func suiteLeaseRunsOut(t *testing.T, f Fixture) {
	ctx, s := t.Context(), f.Store
	create(t, s, "a")
	epoch, err := record.AcquireOne(ctx, s, "a", first, time.Millisecond, 0)
	check(t, err)
	eventually.For(t, 20*time.Second, "the lease runs out", func() error {
		if s.StartFetch(ctx, "a", epoch, 0) == nil {
			return errors.New("a fetch may still start")
		}
		return nil
	})
	if held, err := s.Renew(ctx, first, time.Minute); err != nil || len(held) != 0 {
		t.Fatalf("a lease that ran out was renewed: %v, %v", held, err)
	}
	_, err = record.AcquireOne(ctx, s, "a", second, time.Minute, time.Hour)
	wantCode(t, err, errcode.Conflict) // not before expiry and grace
	var next int64
	eventually.For(t, 20*time.Second, "take-over", func() error {
		next, err = record.AcquireOne(ctx, s, "a", second, time.Minute, 10*time.Millisecond)
		return err
	})
	if next != epoch+1 {
		t.Fatalf("epoch %d after %d", next, epoch)
	}
}

func suiteManyAcquire(t *testing.T, f Fixture) {
	create(t, f.Store, "a")
	var mu sync.Mutex
	var got []int64
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			epoch, err := record.AcquireOne(context.WithoutCancel(t.Context()), f.Store, "a", gitcache.Holder{Replica: fmt.Sprintf("hub-%d", i), Boot: "x"}, time.Minute, time.Second)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				got = append(got, epoch)
			} else if !errcode.Is(err, errcode.Conflict) {
				t.Errorf("acquire: %v", err)
			}
		})
	}
	wg.Wait()
	if len(got) != 1 {
		t.Fatalf("epochs given out: %v, want one", got)
	}
}

func suiteFetchStarts(t *testing.T, f Fixture) {
	ctx, s := t.Context(), f.Store
	create(t, s, "a")
	epoch := acquire(t, s, "a", first)
	check(t, s.StartFetch(ctx, "a", epoch, time.Hour))
	err := s.StartFetch(ctx, "a", epoch, time.Hour)
	wantCode(t, err, errcode.Exhausted)
	if wait := errcode.RetryAfter(err); wait <= 59*time.Minute || wait > time.Hour {
		t.Fatalf("told to wait %v of an hour", wait)
	}
	check(t, s.StartFetch(ctx, "a", epoch, 0))
	wantCode(t, s.StartFetch(ctx, "a", epoch-1, 0), errcode.Conflict)
	check(t, record.ReleaseOne(ctx, s, "a", first, epoch))
	wantCode(t, s.StartFetch(ctx, "a", epoch, 0), errcode.Conflict)
	next := acquire(t, s, "a", second)
	wantCode(t, s.StartFetch(ctx, "a", next, time.Hour), errcode.Exhausted) // the gap outlives its owner
}

func suiteKicks(t *testing.T, f Fixture) {
	ctx, s := t.Context(), f.Store
	create(t, s, "a")
	wantCode(t, s.RequestKick(ctx, "none"), errcode.NotFound)
	check(t, s.RequestKick(ctx, "a"))
	epoch := acquire(t, s, "a", first)
	held, err := s.Renew(ctx, first, time.Minute)
	check(t, err)
	if len(held) != 1 || held[0].KickRequestedAt.IsZero() {
		t.Fatalf("the kick did not reach the next holder: %+v", held)
	}
	check(t, s.StartFetch(ctx, "a", epoch, 0))
	if held, err = s.Renew(ctx, first, time.Minute); err != nil || len(held) != 1 || !held[0].KickRequestedAt.IsZero() {
		t.Fatalf("the kick outlived the fetch: %+v, %v", held, err)
	}
}
