package peer_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/internal/errcode"
)

// row is one lease whose database can be cut off from one holder.
type row struct {
	mu      sync.Mutex
	holder  string
	epoch   int64
	expires time.Time
	away    map[string]bool
}

var errAway = errors.New("the database is away")

func (r *row) AcquireLease(_ context.Context, _, holder string, ttl, grace time.Duration) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away[holder] {
		return 0, errAway
	}
	if r.holder != "" && !r.expires.Add(grace).Before(time.Now()) {
		return 0, errcode.New(errcode.Conflict, "held by %s", r.holder)
	}
	r.holder, r.expires = holder, time.Now().Add(ttl)
	r.epoch++
	return r.epoch, nil
}

func (r *row) RenewLease(_ context.Context, _, holder string, epoch int64, ttl time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away[holder] {
		return errAway
	}
	if r.holder != holder || r.epoch != epoch {
		return errcode.New(errcode.Conflict, "lost")
	}
	r.expires = time.Now().Add(ttl)
	return nil
}

func (r *row) ReleaseLease(_ context.Context, _, holder string, epoch int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away[holder] {
		return errAway
	}
	if r.holder == holder && r.epoch == epoch {
		r.holder = ""
	}
	return nil
}

func (r *row) cut(holder string, away bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away = map[string]bool{holder: away}
}

// leaders notes who leads, and that never two do.
type leaders struct {
	mu    sync.Mutex
	now   map[string]time.Time
	ended map[string]time.Time
	most  int
}

func (l *leaders) lead(holder string) func(context.Context, int64) error {
	return func(ctx context.Context, _ int64) error {
		l.mu.Lock()
		l.now[holder] = time.Now()
		l.most = max(l.most, len(l.now))
		l.mu.Unlock()
		<-ctx.Done()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.now, holder)
		l.ended[holder] = time.Now()
		return nil
	}
}

func (l *leaders) who() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for holder := range l.now {
		return holder
	}
	return ""
}

func run(t *testing.T, store peer.LeaseStore, holder string, lead func(context.Context, int64) error) (stop func()) {
	t.Helper()
	lease, err := peer.NewLease(peer.LeaseConfig{Store: store, Name: "test", Holder: holder})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- lease.Run(ctx, lead) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestHolderFencesItselfBeforeAnotherTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, l := &row{}, &leaders{now: map[string]time.Time{}, ended: map[string]time.Time{}}
		stopA := run(t, store, "a", l.lead("a"))
		pass(time.Second)
		stopB := run(t, store, "b", l.lead("b"))
		pass(10 * time.Minute)
		if who := l.who(); who != "a" {
			t.Fatalf("%q leads after ten quiet minutes", who)
		}
		cutAt := time.Now()
		store.cut("a", true)
		pass(time.Minute)
		if who := l.who(); who != "b" {
			t.Fatalf("%q leads a minute after a was cut off", who)
		}
		if fenced := l.ended["a"].Sub(cutAt); fenced > peer.FenceAfter {
			t.Errorf("a worked on for %v after it was cut off", fenced)
		}
		if apart := l.now["b"].Sub(l.ended["a"]); apart < peer.LeaseTTL+peer.TakeOverGrace-peer.FenceAfter {
			t.Errorf("b started %v after a ended", apart)
		}
		store.cut("a", false)
		pass(time.Minute)
		stopB()
		pass(peer.RenewEvery * 2)
		if who := l.who(); who != "a" || l.most != 1 {
			t.Fatalf("%q leads after b gave it back; at most %d led at once", who, l.most)
		}
		stopA()
	})
}

func TestWorkThatEndsGivesTheLeaseBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &row{}
		var epochs []int64
		stop := run(t, store, "a", func(_ context.Context, epoch int64) error {
			epochs = append(epochs, epoch)
			return fmt.Errorf("failed in epoch %d", epoch)
		})
		pass(time.Minute)
		stop()
		if len(epochs) < 8 || epochs[0] != 1 || epochs[1] != 2 || store.holder != "" {
			t.Fatalf("epochs %v, holder %q", epochs, store.holder)
		}
	})
}

// pass lets time go by in a synctest bubble.
func pass(d time.Duration) { <-time.After(d) }
