package shard_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/shard"
)

// slow is a lease database that takes a second for each call.
type slow struct {
	*table
	acquires, releases atomic.Int64
	fail               atomic.Int64 // which acquire fails; zero is none
}

func (s *slow) wait() { <-time.After(time.Second) }

func (s *slow) Acquire(ctx context.Context, ids []string) (map[string]int64, error) {
	n := s.acquires.Add(1)
	s.wait()
	if n == s.fail.Load() {
		return nil, errors.New("the database is too slow")
	}
	return s.table.Acquire(ctx, ids)
}

func (s *slow) Renew(ctx context.Context) (map[string]int64, error) {
	s.wait()
	return s.table.Renew(ctx)
}

func (s *slow) Release(ctx context.Context, epochs map[string]int64) error {
	s.releases.Add(1)
	s.wait()
	return s.table.Release(ctx, epochs)
}

// TestTwentyThousandLeasesTakeFortyCalls checks, by the number of calls and
// with the hub's own durations, that a hub with that many repositories owns all
// of them within a minute however slow its database is, keeps them from the
// first on, and releases them in as few calls.
func TestTwentyThousandLeasesTakeFortyCalls(t *testing.T) {
	const repositories, batch = 20_000, 500
	synctest.Test(t, func(t *testing.T) {
		leases, o := &slow{table: newTable()}, &owners{running: map[string]int64{}, ended: map[string]error{}}
		k := shard.New(shard.Config{Leases: leases, Own: o.own, RenewEvery: 5 * time.Second, FenceAfter: 12 * time.Second, Batch: batch})
		ids := make([]string, repositories)
		for i := range ids {
			ids[i] = fmt.Sprintf("repo_%05d", i)
		}
		k.Want(ids)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = k.Run(ctx) })
		<-time.After(time.Minute)
		synctest.Wait()
		if n := len(k.Owned()); n != repositories {
			t.Errorf("%d of %d are owned after a minute", n, repositories)
		}
		<-time.After(5 * time.Minute)
		synctest.Wait()
		o.mu.Lock()
		if len(o.running) != repositories || len(o.ended) != 0 {
			t.Errorf("%d are worked on, and %d ended meanwhile", len(o.running), len(o.ended))
		}
		o.mu.Unlock()
		stop()
		running.Wait()
		if a, r := leases.acquires.Load(), leases.releases.Load(); a != repositories/batch || r > repositories/batch {
			t.Errorf("%d calls to take them and %d to give them back, want %d", a, r, repositories/batch)
		}
	})
}

// TestWorkWaitsForTheLeases holds that nobody works before all leases of one
// look are taken, as the work would write to the same database, and that a call
// which fails holds back nobody who has theirs.
func TestWorkWaitsForTheLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases, o := &slow{table: newTable()}, &owners{running: map[string]int64{}, ended: map[string]error{}}
		k := shard.New(shard.Config{Leases: leases, Own: o.own, RenewEvery: 5 * time.Second, FenceAfter: 12 * time.Second, Batch: 1})
		k.Want([]string{"a", "b", "c"})
		ctx, stop := context.WithCancel(t.Context())
		var run sync.WaitGroup
		run.Go(func() { _ = k.Run(ctx) })
		working := func(after time.Duration, want int) {
			t.Helper()
			<-time.After(after)
			synctest.Wait()
			o.mu.Lock()
			defer o.mu.Unlock()
			if len(o.running) != want {
				t.Errorf("%d are worked on, want %d", len(o.running), want)
			}
		}
		working(2500*time.Millisecond, 0)
		working(time.Second, 3)
		leases.fail.Store(5) // the second call from now
		k.Want([]string{"a", "b", "c", "d", "e", "f"})
		working(1500*time.Millisecond, 3)
		working(time.Second, 4)
		stop()
		run.Wait()
	})
}
