package event_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/errcode"
)

// rows is a feed in memory whose oldest rows can be dropped, like by retention.
type rows struct {
	mu      sync.Mutex
	life    string
	first   int64
	entries []event.Row
	hang    bool // reads of rows get no answer
}

func (r *rows) add(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, event.Row{Change: event.Change{Kind: event.KindService, Key: key}, Sequence: r.first + int64(len(r.entries)) + 1})
}

func (r *rows) Incarnation(context.Context) (event.Incarnation, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return event.Incarnation{ID: r.life}, nil
}

func (r *rows) LastSequence(context.Context) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first + int64(len(r.entries)), nil
}

func (r *rows) freeze(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hang = on
}

func (r *rows) ChangesAfter(ctx context.Context, after int64, limit int) ([]event.Row, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hang {
		r.mu.Unlock()
		<-ctx.Done()
		r.mu.Lock()
		return nil, ctx.Err()
	}
	if after < r.first {
		return nil, event.ErrTruncated
	}
	rest := r.entries[after-r.first:]
	return append([]event.Row(nil), rest[:min(limit, len(rest))]...), nil
}

// index counts how it was brought up to date.
type index struct {
	mu       sync.Mutex
	rebuilds int
	keys     []string
}

func (i *index) Rebuild(context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.rebuilds++
	return nil
}

func (i *index) Apply(_ context.Context, rows []event.Row) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, r := range rows {
		i.keys = append(i.keys, r.Key)
	}
	return nil
}

func (i *index) state() (int, []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.rebuilds, append([]string(nil), i.keys...)
}

func start(t *testing.T, store event.Store, i *index) *event.Feed {
	t.Helper()
	return startWith(t, event.FeedConfig{Store: store}, i)
}

func startWith(t *testing.T, c event.FeedConfig, i *index) *event.Feed {
	t.Helper()
	feed, err := event.NewFeed(c)
	if err != nil {
		t.Fatal(err)
	}
	feed.Subscribe(i)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- feed.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return feed
}

func TestWaitersSeeWhatTheyAskFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, i := &rows{life: "a"}, &index{}
		idle, err := event.NewFeed(event.FeedConfig{Store: store})
		if err != nil {
			t.Fatal(err)
		}
		if err := idle.Ready(); !errcode.Is(err, errcode.Unavailable) {
			t.Errorf("ready before the indexes are whole: %v", err)
		}
		feed := start(t, store, i)
		synctest.Wait()
		store.add("one")
		store.add("two")
		if err := feed.WaitFor(t.Context(), event.Position{Incarnation: "a", Sequence: 2}); err != nil {
			t.Fatal(err)
		}
		if _, keys := i.state(); !cmp.Equal(keys, []string{"one", "two"}) {
			t.Errorf("applied %v", keys)
		}
	})
}

func TestWaitForTheFutureGivesUpAfterTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := start(t, &rows{life: "a"}, &index{})
		synctest.Wait()
		before := time.Now()
		err := feed.WaitFor(t.Context(), event.Position{Incarnation: "a", Sequence: 9})
		if !errcode.Is(err, errcode.Unavailable) || errcode.RetryAfter(err) != time.Second {
			t.Errorf("err = %v", err)
		}
		if waited := time.Since(before); waited != 2*time.Second {
			t.Errorf("waited %v", waited)
		}
	})
}

func TestDroppedRowsAndNewLivesRebuild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, i := &rows{life: "a"}, &index{}
		feed := start(t, store, i)
		synctest.Wait()
		store.mu.Lock()
		store.first = 50
		store.mu.Unlock()
		if err := feed.WaitFor(t.Context(), event.Position{Incarnation: "a", Sequence: 50}); err != nil {
			t.Fatal(err)
		}
		store.mu.Lock()
		store.life, store.first = "b", 0
		store.mu.Unlock()
		if err := feed.WaitFor(t.Context(), event.Position{Incarnation: "b"}); err != nil {
			t.Fatal(err)
		}
		if rebuilds, _ := i.state(); rebuilds != 3 {
			t.Errorf("rebuilt %d times, want 3 (start, dropped rows, new life)", rebuilds)
		}
		if err := feed.WaitFor(t.Context(), event.Position{Incarnation: "a", Sequence: 99}); err != nil {
			t.Errorf("a place in an older life must not wait: %v", err)
		}
	})
}

func TestChangesOutsideATransactionAreRefused(t *testing.T) {
	if err := event.Append(t.Context(), event.Change{}); !errcode.Is(err, errcode.Internal) {
		t.Errorf("err = %v", err)
	}
	ctx, c := event.WithCollector(t.Context())
	change := event.Change{Kind: event.KindHead, Key: "x"}
	if err := event.Append(ctx, change, change); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]event.Change{change}, c.Changes()); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// A feed whose connection hangs answers no caller with a newer position,
// reports at once how old its view is, and continues by itself when it can.
func TestFrozenTailerIsHonestAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, i := &rows{life: "a"}, &index{}
		feed := start(t, store, i)
		synctest.Wait()
		store.freeze(true)
		<-time.After(2 * time.Second)
		store.add("one")
		seen := event.Position{Incarnation: "a", Sequence: 1}
		began := time.Now()
		err := feed.WaitFor(t.Context(), seen)
		if !errcode.Is(err, errcode.Unavailable) || errcode.RetryAfter(err) != time.Second {
			t.Errorf("a frozen replica answers %v", err)
		}
		if waited := time.Since(began); waited > 2*time.Second {
			t.Errorf("it waited for %v", waited)
		}
		if age := feed.Age(); age < 2*time.Second {
			t.Errorf("its view is said to be %v old", age)
		}
		store.freeze(false)
		began = time.Now()
		for feed.WaitFor(t.Context(), seen) != nil && time.Since(began) < time.Minute {
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("it caught up after %v", took)
		}
	})
}
