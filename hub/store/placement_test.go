package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/shard"
	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/position"
)

func TestPlacementsTellWhoOwnsAndWhoShould(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s, ctx := d.Open(t), t.Context()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		one := func() shard.Placement {
			t.Helper()
			got, err := s.Placement(ctx, "r1")
			must(err)
			all, err := s.Placements(ctx)
			if err != nil || len(all) != 2 || all[0].RepositoryID != "r1" {
				t.Fatalf("%v, %v", all, err)
			}
			return got
		}
		for _, id := range []string{"r1", "r2"} {
			_, err := s.CreateRepository(ctx, gitcache.Repository{ID: id, Name: id, Kind: record.Git, URL: "https://x.example/" + id}, gitcache.Credentials{})
			must(err)
		}
		must(s.Heartbeat(ctx, peer.Replica{Name: "hub-1", URL: "http://hub-1"}, 0))
		if got := one(); got.Held || got.Owner != "" || got.FreeFor > time.Minute || got.MovedAgo < time.Hour {
			t.Errorf("a new repository: %+v", got)
		}
		must(s.Assign(ctx, []shard.Assignment{{RepositoryID: "r1", Preferred: "hub-1", Follower: "hub-2"}, {RepositoryID: "gone", Preferred: "hub-1"}}))
		holder := gitcache.Holder{Replica: "hub-1", Boot: "b"}
		epoch, err := record.AcquireOne(ctx, s, "r1", holder, time.Minute, 0)
		must(err)
		must(s.Followed(ctx, "r1", "hub-3"))
		got := one()
		if !got.Held || got.Owner != "hub-1" || got.OwnerURL != "http://hub-1" || got.Epoch != epoch || got.Preferred != "hub-1" || got.Follower != "hub-2" ||
			got.FreeFor != 0 || !got.FollowedAt.IsZero() || got.Age > time.Minute {
			t.Errorf("an owned repository: %+v", got)
		}
		must(s.Followed(ctx, "r1", "hub-2"))
		if got := one(); got.FollowedAt.IsZero() {
			t.Errorf("a followed repository: %+v", got)
		}
		must(s.Assign(ctx, []shard.Assignment{{RepositoryID: "r1", Preferred: "hub-2", Follower: "hub-1", Move: true}}))
		if got := one(); got.MovedAgo > time.Minute || !got.FollowedAt.IsZero() || got.Owner != "hub-1" {
			t.Errorf("a repository that moves: %+v", got)
		}
		must(record.ReleaseOne(ctx, s, "r1", holder, epoch))
		if got := one(); got.Held || got.FreeFor > time.Minute {
			t.Errorf("a repository that was given back: %+v", got)
		}
		if _, err := s.Placement(ctx, "none"); !errcode.Is(err, errcode.NotFound) {
			t.Error(err)
		}
	})
}

func TestReplicasSayHowTheyAreAndMayBeToldToLeave(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s, ctx := d.Open(t), t.Context()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		one := func() peer.Replica {
			t.Helper()
			all, err := s.Replicas(ctx, time.Minute)
			if err != nil || len(all) != 1 {
				t.Fatalf("%v, %v", all, err)
			}
			return all[0]
		}
		began := time.UnixMicro(1_700_000_000_000_000).UTC()
		self := peer.Replica{Name: "hub-1", URL: "http://hub-1", Version: "v1", StartedAt: began,
			Condition: peer.Condition{Position: position.Position{Incarnation: "a", Sequence: 7}, FeedAge: time.Second, DiskFree: 5, DiskTotal: 9}}
		must(s.Heartbeat(ctx, self, 0))
		want := self
		want.Alive, want.Present = true, true
		got := one()
		got.SeenAt = time.Time{}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got, err := s.Replicas(ctx, 0); err != nil || got[0].Alive || got[0].Present {
			t.Errorf("an old heartbeat: %+v, %v", got, err)
		}
		must(s.Heartbeat(ctx, self, time.Minute))
		if got := one(); got.Alive || !got.Present || got.DrainingUntil.IsZero() {
			t.Errorf("one that stops: %+v", got)
		}
		must(s.SetLeaving(ctx, "hub-1", true))
		must(s.Heartbeat(ctx, self, 0))
		if got := one(); !got.Leaving || !got.Alive {
			t.Errorf("one that was told to leave: %+v", got)
		}
		must(s.Heartbeat(ctx, self, time.Minute))
		if got := one(); got.Present {
			t.Errorf("one that left: %+v", got)
		}
		self.StartedAt = began.Add(time.Hour)
		must(s.Heartbeat(ctx, self, 0))
		if got := one(); got.Leaving || !got.Present {
			t.Errorf("one that was started anew: %+v", got)
		}
		if err := s.SetLeaving(ctx, "none", true); !errcode.Is(err, errcode.NotFound) {
			t.Error(err)
		}
	})
}
