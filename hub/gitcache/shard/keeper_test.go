package shard_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/shard"
	"github.com/axle-cd/axle/internal/eventually"
)

// table is leases of one replica, with faults.
type table struct {
	mu       sync.Mutex
	epochs   map[string]int64
	held     map[string]int64
	released []string
	hang     chan struct{} // renewals wait until it is closed
}

func newTable() *table { return &table{epochs: map[string]int64{}, held: map[string]int64{}} }

func (t *table) Acquire(_ context.Context, ids []string) (map[string]int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := map[string]int64{}
	for _, id := range ids {
		if t.held[id] != 0 {
			continue
		}
		t.epochs[id]++
		t.held[id] = t.epochs[id]
		out[id] = t.epochs[id]
	}
	return out, nil
}

func (t *table) Renew(ctx context.Context) (map[string]int64, error) {
	t.mu.Lock()
	hang := t.hang
	t.mu.Unlock()
	if hang != nil {
		select {
		case <-hang:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	out := map[string]int64{}
	for id, e := range t.held {
		out[id] = e
	}
	return out, nil
}

func (t *table) Release(_ context.Context, epochs map[string]int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, epoch := range epochs {
		t.released = append(t.released, fmt.Sprint(id, epoch))
		if t.held[id] == epoch {
			delete(t.held, id)
		}
	}
	return nil
}

func (t *table) lose(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.epochs[id]++
	t.held[id] = t.epochs[id] // another's now
}

// owners records whose work is running.
type owners struct {
	mu      sync.Mutex
	running map[string]int64
	ended   map[string]error
	most    int // of one id at once
}

func (o *owners) own(ctx context.Context, id string, epoch int64) error {
	o.mu.Lock()
	if o.running[id] != 0 {
		o.most++
	}
	o.running[id] = epoch
	o.mu.Unlock()
	<-ctx.Done()
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.running, id)
	o.ended[fmt.Sprint(id, epoch)] = context.Cause(ctx)
	return nil
}

func (o *owners) see(check func() error) func() error {
	return func() error {
		o.mu.Lock()
		defer o.mu.Unlock()
		return check()
	}
}

// run keeps leases until the test ends. It is called in a bubble: a lease that
// is renewed every 20 ms, and work that must end within as much, would be
// judged by how busy the machine is otherwise.
func run(t *testing.T, leases *table) (*shard.Keeper, *owners, func()) {
	t.Helper()
	o := &owners{running: map[string]int64{}, ended: map[string]error{}}
	k := shard.New(shard.Config{Leases: leases, Own: o.own, RenewEvery: 20 * time.Millisecond, FenceAfter: 500 * time.Millisecond, Batch: 2})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- k.Run(ctx) }()
	stopped := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stopped)
	return k, o, stopped
}

const patience = time.Minute

func TestOwnsWhatIsWantedAndGivesItBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := newTable()
		k, o, stop := run(t, leases)
		k.Want([]string{"a", "b"})
		eventually.For(t, patience, "both owned", o.see(func() error {
			if o.running["a"] != 1 || o.running["b"] != 1 {
				return fmt.Errorf("running %v", o.running)
			}
			return nil
		}))
		k.Want([]string{"b"})
		eventually.For(t, patience, "a given back", func() error {
			leases.mu.Lock()
			defer leases.mu.Unlock()
			if len(leases.released) != 1 || leases.released[0] != "a1" {
				return fmt.Errorf("released %v", leases.released)
			}
			// The keeper learns of it after the table.
			if k.Owns("a") != 0 || k.Owns("b") != 1 {
				return fmt.Errorf("owns a %d, b %d", k.Owns("a"), k.Owns("b"))
			}
			return nil
		})
		stop()
		if len(leases.released) != 2 || len(leases.held) != 0 || len(o.running) != 0 {
			t.Errorf("after the end: released %v, held %v, running %v", leases.released, leases.held, o.running)
		}
	})
}

// TestFencesItself checks that work ends when the database does not answer,
// although no answer said that the lease was lost.
func TestFencesItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := newTable()
		k, o, _ := run(t, leases)
		k.Want([]string{"a"})
		eventually.For(t, patience, "owned", o.see(func() error {
			if o.running["a"] == 0 {
				return errors.New("not yet")
			}
			return nil
		}))
		leases.mu.Lock()
		leases.hang = make(chan struct{})
		hung := time.Now()
		leases.mu.Unlock()
		eventually.For(t, patience, "the fence", o.see(func() error {
			if !errors.Is(o.ended["a1"], shard.ErrFenced) {
				return fmt.Errorf("ended with %v", o.ended["a1"])
			}
			return nil
		}))
		if d := time.Since(hung); d < 480*time.Millisecond || d > 550*time.Millisecond {
			t.Errorf("fenced after %v", d)
		}
		leases.mu.Lock()
		close(leases.hang)
		leases.hang = nil
		leases.mu.Unlock()
		eventually.For(t, patience, "owned again", o.see(func() error {
			if o.running["a"] != 2 {
				return fmt.Errorf("running %v", o.running)
			}
			return nil
		}))
	})
}

func TestEndsWhenTheLeaseIsAnothers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := newTable()
		k, o, _ := run(t, leases)
		k.Want([]string{"a"})
		eventually.For(t, patience, "owned", o.see(func() error {
			if o.running["a"] == 0 {
				return errors.New("not yet")
			}
			return nil
		}))
		leases.lose("a")
		eventually.For(t, patience, "the end", o.see(func() error {
			if o.running["a"] != 0 {
				return errors.New("it goes on")
			}
			return nil
		}))
		if o.most != 0 {
			t.Error("one repository's work ran twice at once")
		}
	})
}

// TestLeaseThatCameBackIsGivenBack checks that a lease which the database
// reports as ours again, after it lost the row of its release, is not renewed
// for ever without work.
func TestLeaseThatCameBackIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := newTable()
		run(t, leases)
		leases.mu.Lock()
		leases.held["r"], leases.epochs["r"] = 3, 3
		leases.mu.Unlock()
		eventually.For(t, time.Minute, "the lease is given back", func() error {
			leases.mu.Lock()
			defer leases.mu.Unlock()
			if leases.held["r"] != 0 {
				return errors.New("it is held")
			}
			return nil
		})
	})
}
