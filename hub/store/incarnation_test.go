package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/store/storetest"
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
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s, err := store.Open(t.Context(), d.Config)
		if err != nil {
			t.Fatal(err)
		}
		write(t, s, "a")
		before := present(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = d.Open(t)
		if after := present(t, s); after != before {
			t.Fatalf("%+v, then %+v", before, after)
		}
		if last, err := s.LastSequence(t.Context()); err != nil || last != 1 {
			t.Fatalf("last %d, %v", last, err)
		}
	})
}

func TestManyBeginOneIncarnation(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t)
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

// Lost rows end the incarnation. The next one continues by itself when the
// database has rows of the last ten minutes, and otherwise waits for a person.
func TestLostRowsBeginAnIncarnation(t *testing.T) {
	for what, tc := range map[string]struct {
		later     time.Duration
		confirmed bool
	}{
		"seconds": {0, true},
		"hours":   {time.Hour, false},
	} {
		t.Run(what, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
				now := clock.NewManual(time.Now())
				d.Config.Clock = now
				s, ctx := d.Open(t), t.Context()
				write(t, s, "a")
				first := present(t, s)
				at := func(sequence int64) event.Position { return event.Position{Incarnation: first.ID, Sequence: sequence} }
				now.Advance(tc.later)
				if err := s.Repair(ctx, at(1), "edge-1"); err != nil || present(t, s).ID != first.ID {
					t.Fatalf("an incarnation began although nothing is lost: %v", err)
				}
				if err := s.Repair(ctx, at(9), "edge-1"); err != nil {
					t.Fatal(err)
				}
				next := present(t, s)
				if next.ID <= first.ID || next.ParentID != first.ID || next.ParentKeptSequence != 1 || next.Confirmed != tc.confirmed {
					t.Fatalf("%+v", next)
				}
				if err := s.Repair(ctx, at(9), "edge-2"); err != nil || present(t, s) != next {
					t.Errorf("the same place ended the next one too: %v", err)
				}
			})
		})
	}
}

// A fail-over loses the last seconds: the replica that had read them finds out
// by itself, and its feed continues in a new incarnation.
func TestFeedFollowsALostTail(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t)
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
