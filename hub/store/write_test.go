package store_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

func announce(s *store.Store, key string) func(context.Context) error {
	return func(ctx context.Context) error {
		return event.Append(ctx, event.Change{Kind: event.KindService, Key: key})
	}
}

func TestWriteIsOneUnit(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t)
		ctx, receipt := event.WithReceipt(t.Context())
		boom := errors.New("boom")
		err := s.Write(ctx, func(ctx context.Context) error {
			if err := s.SetSetting(ctx, "a", "1"); err != nil {
				return err
			}
			if err := event.Record(ctx, event.Entry{Kind: "service.created"}); err != nil {
				return err
			}
			return errors.Join(announce(s, "x")(ctx), boom)
		})
		if !errors.Is(err, boom) {
			t.Fatal(err)
		}
		value, err := s.Setting(ctx, "a")
		rows, rerr := s.ChangesAfter(ctx, 0, 10)
		entries, eerr := s.Events(ctx, store.EventFilter{})
		if err := errors.Join(err, rerr, eerr); err != nil || value != "" || len(rows) != 0 || len(entries) != 0 {
			t.Fatalf("after a failed write: %q, %v, %v, %v", value, rows, entries, err)
		}
		if receipt.Position() != (event.Position{}) {
			t.Fatalf("a failed write has position %v", receipt.Position())
		}
	})
}

func TestNestedWriteJoins(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t)
		boom := errors.New("boom")
		err := s.Write(t.Context(), func(ctx context.Context) error {
			if err := s.Write(ctx, func(ctx context.Context) error { return s.SetSetting(ctx, "a", "1") }); err != nil {
				return err
			}
			if inside, err := s.Setting(ctx, "a"); err != nil || inside != "1" {
				return fmt.Errorf("inside it reads %q, %w", inside, err)
			}
			return boom
		})
		value, rerr := s.Setting(t.Context(), "a")
		if err != boom || rerr != nil || value != "" {
			t.Fatalf("%v, %v, %q", err, rerr, value)
		}
	})
}

func TestFeedRowsAreTransactions(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		var mu sync.Mutex
		woken := 0
		d.Config.Wake = func() {
			mu.Lock()
			defer mu.Unlock()
			woken++
		}
		s := d.Open(t)
		ctx, receipt := event.WithReceipt(t.Context())
		a := event.Change{Kind: event.KindService, Key: "a", Cluster: "c"}
		b := event.Change{Kind: event.KindHead, Key: "b"}
		for _, changes := range [][]event.Change{{a, b, a}, {b}} {
			if err := s.Write(ctx, func(ctx context.Context) error { return event.Append(ctx, changes...) }); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := s.ChangesAfter(ctx, 0, 10)
		want := []event.Row{{Change: a, Sequence: 1}, {Change: b, Sequence: 1}, {Change: b, Sequence: 2}}
		if diff := cmp.Diff(want, undated(rows)); diff != "" || err != nil {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
		present, err := s.Incarnation(ctx)
		if want := (event.Position{Incarnation: present.ID, Sequence: 2}); err != nil || receipt.Position() != want || !present.Confirmed {
			t.Fatalf("receipt %v, want %v, %v", receipt.Position(), want, err)
		}
		if last, err := s.LastSequence(ctx); err != nil || last != 2 {
			t.Fatalf("last %d, %v", last, err)
		}
		mu.Lock()
		defer mu.Unlock()
		if woken != 2 {
			t.Fatalf("woken %d times", woken)
		}
	})
}

// Two writers read the same row, wait for each other and write what they read
// plus one. One of them must be run again.
func TestTwoWritersLoseNoUpdate(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t)
		var wg sync.WaitGroup
		const writers, each = 6, 10
		for range writers {
			wg.Go(func() {
				for range each {
					err := s.Write(t.Context(), func(ctx context.Context) error {
						text, err := s.Setting(ctx, "count")
						if err != nil {
							return err
						}
						n, _ := strconv.Atoi(text)
						return s.SetSetting(ctx, "count", strconv.Itoa(n+1))
					})
					if err != nil && !errcode.Is(err, errcode.Unavailable) {
						t.Error(err)
					}
					if err != nil {
						t.Log(err)
					}
				}
			})
		}
		wg.Wait()
		if text, err := s.Setting(t.Context(), "count"); err != nil || text != strconv.Itoa(writers*each) {
			t.Fatalf("count is %s, want %d; %v", text, writers*each, err)
		}
	})
}

// Readers follow the feed while many commit. A sequence must never become
// visible before a smaller one, or a reader would pass over it for ever.
func TestSequenceOrderIsCommitOrder(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		stores := []*store.Store{d.Open(t)}
		if d.IsPostgres() {
			stores = append(stores, d.Open(t)) // a second replica
		}
		const writers, each = 8, 25
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
		defer stop()
		var wg sync.WaitGroup
		for w := range writers {
			s := stores[w%len(stores)]
			wg.Go(func() {
				for i := range each {
					if err := s.Write(ctx, announce(s, fmt.Sprintf("%d-%d", w, i))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		seen := map[string]bool{}
		for at := int64(0); at < writers*each && ctx.Err() == nil; {
			rows, err := stores[0].ChangesAfter(ctx, at, 7)
			if err != nil {
				t.Fatalf("after %d: %v", at, err)
			}
			for _, r := range rows {
				if r.Sequence != at+1 {
					t.Fatalf("sequence %d became visible after %d", r.Sequence, at)
				}
				at, seen[r.Key] = r.Sequence, true
			}
		}
		wg.Wait()
		if len(seen) != writers*each {
			t.Fatalf("%d of %d changes were seen", len(seen), writers*each)
		}
	})
}

func TestBatchSharesOneFeedRow(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t)
		boom := errcode.New(errcode.Conflict, "resync")
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				ctx, receipt := event.WithReceipt(t.Context())
				err := s.WriteBatched(ctx, func(ctx context.Context) error {
					name := fmt.Sprint("report ", i)
					if err := errors.Join(s.SetSetting(ctx, name, "1"), announce(s, name)(ctx)); err != nil {
						return err
					}
					if i%10 == 0 {
						return boom
					}
					return nil
				})
				if i%10 == 0 && (!errors.Is(err, boom) || receipt.Position().Sequence != 0) {
					t.Errorf("a refused part: %v at %v", err, receipt.Position())
				}
				if i%10 != 0 && (err != nil || receipt.Position().Sequence == 0) {
					t.Errorf("a good part: %v at %v", err, receipt.Position())
				}
			})
		}
		wg.Wait()
		last, err := s.LastSequence(t.Context())
		if err != nil || last < 1 || last > 10 {
			t.Fatalf("50 reports made %d feed rows, %v", last, err)
		}
		rows, err := s.ChangesAfter(t.Context(), 0, 100)
		if err != nil || len(rows) != 45 {
			t.Fatalf("%d changes, want 45 that were not refused; %v", len(rows), err)
		}
		if undone, err := s.Setting(t.Context(), "report 10"); err != nil || undone != "" {
			t.Fatalf("a refused part was kept: %q, %v", undone, err)
		}
	})
}

func TestBatchOutlivesACallerThatLeaves(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t)
		leaving, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			_ = s.WriteBatched(leaving, func(ctx context.Context) error {
				leave()
				return s.SetSetting(ctx, "left", "1")
			})
		})
		wg.Go(func() {
			if err := s.WriteBatched(t.Context(), func(ctx context.Context) error { return s.SetSetting(ctx, "stayed", "1") }); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
	})
}

// Two transactions lock two rows in opposite order and wait for each other; the
// database ends one of them, and it is retried.
func TestDeadlockIsRunAgain(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t)
		err := s.Write(t.Context(), func(ctx context.Context) error {
			return errors.Join(s.SetSetting(ctx, "a", ""), s.SetSetting(ctx, "b", ""))
		})
		if err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		var once [2]sync.Once
		var writers sync.WaitGroup
		concurrent := d.IsPostgres() // SQLite's writers wait at the start
		if concurrent {
			both.Add(2)
		}
		for i, order := range [][2]string{{"a", "b"}, {"b", "a"}} {
			writers.Go(func() {
				err := s.Write(t.Context(), func(ctx context.Context) error {
					if err := s.SetSetting(ctx, order[0], fmt.Sprint(i)); err != nil {
						return err
					}
					if concurrent {
						once[i].Do(both.Done)
						both.Wait()
					}
					return s.SetSetting(ctx, order[1], fmt.Sprint(i))
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		writers.Wait()
		a, aerr := s.Setting(t.Context(), "a")
		b, berr := s.Setting(t.Context(), "b")
		if err := errors.Join(aerr, berr); err != nil || a != b || a == "" {
			t.Fatalf("a is %q and b is %q, %v", a, b, err)
		}
	})
}

// undated returns rows without the time of their commits.
func undated(rows []event.Row) []event.Row {
	for i := range rows {
		rows[i].At = 0
	}
	return rows
}
