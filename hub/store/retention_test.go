package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/clock"
)

func TestOldRowsGoAndSequencesGoOn(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		now := clock.NewManual(time.Now())
		d.Config.Clock = now
		s, ctx := d.Open(t), t.Context()
		both := func(n int) {
			t.Helper()
			err := s.Write(ctx, func(ctx context.Context) error {
				return errors.Join(announce(s, fmt.Sprint(n))(ctx), event.Record(ctx, event.Entry{Kind: "k", Message: fmt.Sprint(n)}))
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		prune := func() {
			t.Helper()
			if err := s.Prune(ctx); err != nil {
				t.Fatal(err)
			}
		}
		for n := range 1200 { // more than two chunks
			both(n)
		}
		now.Advance(23 * time.Hour)
		prune()
		if rows, err := s.ChangesAfter(ctx, 0, 5); err != nil || len(rows) != 5 {
			t.Fatalf("rows of 23 h went: %v, %v", rows, err)
		}
		now.Advance(2 * time.Hour)
		prune()
		if _, err := s.ChangesAfter(ctx, 0, 5); !errors.Is(err, event.ErrTruncated) {
			t.Fatalf("a replica that was away is not told: %v", err)
		}
		if last, err := s.LastSequence(ctx); err != nil || last != 1200 {
			t.Fatalf("last sequence %d, %v", last, err)
		}
		both(1200)
		if rows, err := s.ChangesAfter(ctx, 1200, 5); err != nil || len(rows) != 1 || rows[0].Sequence != 1201 {
			t.Fatalf("%v, %v", rows, err)
		}
		if entries, err := s.Events(ctx, store.EventFilter{Limit: 1000}); err != nil || len(entries) != 1000 {
			t.Fatalf("%d events after a day, %v", len(entries), err)
		}
		now.Advance(30 * 24 * time.Hour)
		prune()
		entries, err := s.Events(ctx, store.EventFilter{})
		if err != nil || len(entries) != 1 || entries[0].ID != 1201 {
			t.Fatalf("%v, %v", entries, err)
		}
	})
}

func TestEventsAreFilteredNewestFirst(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s, ctx := d.Open(t), t.Context()
		err := s.Write(ctx, func(ctx context.Context) error {
			for i := range 150 {
				e := event.Entry{Kind: "service.updated", Object: fmt.Sprint(i), By: "me", Cluster: fmt.Sprint("c", i%2), Service: fmt.Sprint("s", i%10)}
				if err := event.Record(ctx, e); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, tc := range map[string]struct {
			filter store.EventFilter
			count  int
			first  string
		}{
			"all":          {store.EventFilter{}, 100, "149"},
			"limit":        {store.EventFilter{Limit: 3}, 3, "149"},
			"cluster":      {store.EventFilter{Cluster: "c0"}, 75, "148"},
			"service":      {store.EventFilter{Service: "s3"}, 15, "143"},
			"both":         {store.EventFilter{Cluster: "c0", Service: "s3"}, 0, ""},
			"after":        {store.EventFilter{After: 140}, 10, "149"},
			"after, limit": {store.EventFilter{After: 140, Cluster: "c1", Limit: 2}, 2, "149"},
		} {
			entries, err := s.Events(ctx, tc.filter)
			if err != nil || len(entries) != tc.count || (tc.count > 0 && (entries[0].Object != tc.first || entries[0].At == 0)) {
				t.Errorf("%s: %d entries, %v", name, len(entries), err)
			}
		}
	})
}
