package store_test

import (
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/desired"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/store"
)

// follower is a feed that a test moves by hand.
type follower struct {
	at   event.Position
	life event.Incarnation
}

func (f *follower) Position() event.Position       { return f.at }
func (f *follower) Incarnation() event.Incarnation { return f.life }

// TestACommitOfTheFirstReadAfterAFailOverIsDelivered checks the order of an owner's
// pass: it writes the head, then the health that says when upstream was read. The
// index sees the new content before that, lets it wait, and must be told when the
// wait is over, although the upstream is as healthy as before.
func TestACommitOfTheFirstReadAfterAFailOverIsDelivered(t *testing.T) {
	c := fleettest.NewContended(t)
	ctx, repository := t.Context(), c.Sources.Repository()
	pass := func(content string, at time.Time) (written func()) {
		c.MoveHead("web", content)
		return func() {
			health := gitcache.Health{State: record.Pullable, CheckedAt: at}
			if err := c.Store.WriteHealth(ctx, repository, c.Sources.Epoch(), health); err != nil {
				t.Fatal(err)
			}
		}
	}
	pass("one", time.Now())()
	service := c.Must(c.CreateService(ctx, "ann", fleettest.Creation("web", "web")))

	feed := &follower{life: present(t, c.Store)}
	if err := c.Store.Repair(ctx, event.Position{Incarnation: feed.life.ID, Sequence: 999}, "edge-1"); err != nil {
		t.Fatal(err)
	}
	feed.life = present(t, c.Store)
	if feed.life.ParentID == "" || !feed.life.Confirmed {
		t.Fatalf("no fail-over: %+v", feed.life)
	}
	index, err := desired.New(desired.Config{Fleet: c.Fleet.Fleet, Feed: feed, Learnt: store.Learnt{Store: c.Store}})
	if err != nil {
		t.Fatal(err)
	}
	feed.at.Incarnation = feed.life.ID
	if err := index.Rebuild(ctx); err != nil {
		t.Fatal(err)
	}
	follow := func() desired.Service {
		t.Helper()
		rows, err := c.Store.ChangesAfter(ctx, feed.at.Sequence, 100)
		if err == nil && len(rows) > 0 {
			feed.at.Sequence = rows[len(rows)-1].Sequence
			err = index.Apply(ctx, rows)
		}
		if err != nil {
			t.Fatal(err)
		}
		list, err := index.For(service.ClusterID)
		if err != nil || len(list.Services) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		return list.Services[0]
	}
	written := pass("two", time.Now().Add(time.Minute))
	if s := follow(); s.TarballDigest != fleettest.ContentDigest("two").String() || s.Wait != desired.WaitFailover {
		t.Errorf("before the read is recorded: %s, %q", s.TarballDigest, s.Wait)
	}
	written()
	if s := follow(); s.Wait != 0 {
		t.Errorf("after the read is recorded it still waits: %q", s.Wait)
	}
}
