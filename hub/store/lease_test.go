package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

func TestLeaseHasOneHolder(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s, ctx := d.Open(t), t.Context()
		var mu sync.Mutex
		var won []string
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				holder := fmt.Sprint("hub-", i)
				if epoch, err := s.AcquireLease(ctx, "x", holder, time.Minute, 0); err == nil && epoch == 1 {
					mu.Lock()
					defer mu.Unlock()
					won = append(won, holder)
				} else if !errcode.Is(err, errcode.Conflict) {
					t.Errorf("epoch %d, %v", epoch, err)
				}
			})
		}
		wg.Wait()
		if len(won) != 1 {
			t.Fatalf("held by %v", won)
		}
		check := func(got error, code errcode.Code) {
			t.Helper()
			if errcode.Of(got) != code {
				t.Fatalf("error %v, want code %q", got, code)
			}
		}
		check(s.RenewLease(ctx, "x", won[0], 1, time.Minute), "")
		check(s.RenewLease(ctx, "x", "other", 1, time.Minute), errcode.Conflict)
		check(s.RenewLease(ctx, "x", won[0], 0, time.Minute), errcode.Conflict)
		check(s.ReleaseLease(ctx, "x", "other", 1), "")
		check(s.RenewLease(ctx, "x", won[0], 1, time.Minute), "")
		check(s.ReleaseLease(ctx, "x", won[0], 1), "")
		check(s.RenewLease(ctx, "x", won[0], 1, time.Minute), errcode.Conflict)
		epoch, err := s.AcquireLease(ctx, "x", "next", time.Millisecond, 0)
		if err != nil || epoch != 2 {
			t.Fatalf("epoch %d, %v", epoch, err)
		}
		_, err = s.AcquireLease(ctx, "x", "patient", time.Minute, time.Hour)
		check(err, errcode.Conflict) // it ran out, but not an hour ago
		eventually.For(t, 20*time.Second, "take-over", func() error {
			epoch, err = s.AcquireLease(ctx, "x", "patient", time.Minute, 0)
			return err
		})
		if epoch != 3 {
			t.Fatalf("epoch %d after 2", epoch)
		}
	})
}

// Two replicas on one database: both see both, one leads, and the other leads
// after the first left.
func TestTwoReplicasShareOneDatabase(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		a := d.Open(t)
		b := a // SQLite has one process; two members may still use it
		if d.IsPostgres() {
			b = d.Open(t)
		}
		ctx, stop := context.WithCancel(t.Context())
		leading := make(chan string, 4)
		var running sync.WaitGroup
		replica := func(ctx context.Context, name string, s interface {
			peer.MemberStore
			peer.LeaseStore
		}) *peer.Members {
			members, err := peer.NewMembers(peer.MembersConfig{Store: s, Self: peer.Replica{Name: name, URL: "http://" + name}})
			if err != nil {
				t.Fatal(err)
			}
			lease, err := peer.NewLease(peer.LeaseConfig{Store: s, Name: "feed", Holder: name})
			if err != nil {
				t.Fatal(err)
			}
			running.Go(func() { _ = members.Run(ctx) })
			running.Go(func() {
				_ = lease.Run(ctx, func(ctx context.Context, _ int64) error {
					leading <- name
					<-ctx.Done()
					return nil
				})
			})
			return members
		}
		first, leave := context.WithCancel(ctx)
		one := replica(first, "hub-0", a)
		if who := <-leading; who != "hub-0" {
			t.Fatalf("%s leads", who)
		}
		two := replica(ctx, "hub-1", b)
		eventually.For(t, 60*time.Second, "both see both", func() error {
			if len(one.Others()) != 1 || len(two.Others()) != 1 {
				return fmt.Errorf("%v, %v", one.Alive(), two.Alive())
			}
			return nil
		})
		leave()
		if who := <-leading; who != "hub-1" {
			t.Fatalf("%s leads", who)
		}
		eventually.For(t, 60*time.Second, "the one that left drains", func() error {
			if r, ok := two.Named("hub-0"); ok && r.DrainingUntil.Before(r.SeenAt.Add(peer.DrainTime)) {
				return errors.New("it is not draining")
			}
			return nil
		})
		stop()
		running.Wait()
	})
}
