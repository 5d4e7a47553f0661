package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/eventually"
)

func write(t *testing.T, s *store.Store, key string) {
	t.Helper()
	if err := s.Write(t.Context(), announce(s, key)); err != nil {
		t.Fatal(err)
	}
}

func present(t *testing.T, s *store.Store) event.Incarnation {
	t.Helper()
	i, err := s.Incarnation(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestReopenKeepsTheIncarnation(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		s, err := store.Open(t.Context(), p.config)
		if err != nil {
			t.Fatal(err)
		}
		write(t, s, "a")
		before := present(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = p.open(t)
		if after := present(t, s); after != before {
			t.Fatalf("%+v, then %+v", before, after)
		}
		if last, err := s.LastSequence(t.Context()); err != nil || last != 1 {
			t.Fatalf("last %d, %v", last, err)
		}
	})
}

func TestManyBeginOneIncarnation(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		s := p.open(t)
		write(t, s, "a")
		write(t, s, "b")
		parent := present(t, s)
		var wg sync.WaitGroup
		var mu sync.Mutex
		ids := map[string]bool{}
		for range 6 {
			wg.Go(func() {
				next, err := s.BeginIncarnation(t.Context(), parent.ID, "", false)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				ids[next.ID] = true
			})
		}
		wg.Wait()
		next := present(t, s)
		if len(ids) != 1 || !ids[next.ID] || next.ID <= parent.ID || next.ParentID != parent.ID ||
			next.ParentKeptSequence != 2 || next.ParentKeptAt.IsZero() || next.Confirmed {
			t.Fatalf("ids %v, present %+v", ids, next)
		}
		write(t, s, "c")
		rows, err := s.ChangesAfter(t.Context(), 0, 10)
		if err != nil || len(rows) != 2 || rows[0].Kind != event.KindIncarnation || rows[1].Key != "c" || rows[1].Sequence != 2 {
			t.Fatalf("the new feed is %+v, %v", rows, err)
		}
		confirmed, err := s.ConfirmIncarnation(t.Context())
		if err != nil || !confirmed.Confirmed || !present(t, s).Confirmed {
			t.Fatalf("%+v, %v", confirmed, err)
		}
	})
}

func TestLostSecondsBeginAnIncarnation(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		now := clock.NewManual(time.Now())
		p.config.Clock = now
		s, ctx := p.open(t), t.Context()
		write(t, s, "a")
		first := present(t, s)
		at := func(sequence int64) event.Position { return event.Position{Incarnation: first.ID, Sequence: sequence} }
		mend := func(seen event.Position, claimed bool) string {
			t.Helper()
			if err := s.Mend(ctx, seen, claimed); err != nil {
				t.Fatal(err)
			}
			return present(t, s).ID
		}
		if id := mend(at(1), false); id != first.ID {
			t.Fatal("an incarnation began although nothing is lost")
		}
		if id := mend(at(9), true); id != first.ID {
			t.Fatal("a client's claim ended an incarnation that is younger than ten minutes")
		}
		now.Advance(11 * time.Minute)
		if id := mend(event.Position{Incarnation: "ffffffffffffff-0000", Sequence: 1}, true); id != first.ID {
			t.Fatal("a claim from the future ended an incarnation")
		}
		if id := mend(at(9), false); id <= first.ID {
			t.Fatal("this replica's own position is lost and no incarnation began")
		}
		if next := present(t, s); next.ParentID != first.ID || next.ParentKeptSequence != 1 || !next.Confirmed {
			t.Fatalf("%+v", next)
		}
	})
}

// A fail-over loses the last seconds: the replica that read them finds out by
// itself, and its feed goes on in a new incarnation.
func TestFeedFollowsALostTail(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		s := p.open(t)
		for _, key := range []string{"a", "b", "c"} {
			write(t, s, key)
		}
		first := present(t, s)
		lossy := &losing{Store: s}
		feed, err := event.NewFeed(event.FeedConfig{Store: lossy})
		if err != nil {
			t.Fatal(err)
		}
		s.OnCommit(feed.Wake)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = feed.Run(ctx) })
		defer running.Wait()
		defer stop()
		eventually.For(t, 30*time.Second, "a new incarnation", func() error {
			if now := feed.Incarnation(); now.ParentID != first.ID || now.ParentKeptSequence != 3 {
				return fmt.Errorf("the feed follows %+v", now)
			}
			return nil
		})
		eventually.For(t, 30*time.Second, "its position", func() error {
			if at := feed.Position(); at.Incarnation == first.ID {
				return fmt.Errorf("the feed is at %v", at)
			}
			return nil
		})
	})
}

// losing has read two rows more than the database has, once.
type losing struct {
	*store.Store
	once sync.Once
}

func (l *losing) LastSequence(ctx context.Context) (last int64, err error) {
	last, err = l.Store.LastSequence(ctx)
	l.once.Do(func() { last += 2 })
	return last, err
}
