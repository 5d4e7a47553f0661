package peer_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axle-cd/axle/hub/peer"
)

// table holds the rows of replicas in a database that can be made unavailable.
type table struct {
	mu   sync.Mutex
	away bool
	skew time.Duration
	rows map[string]peer.Replica
}

func (d *table) Heartbeat(_ context.Context, r peer.Replica, drain time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.away {
		return errAway
	}
	r.SeenAt, r.DrainingUntil = time.Now().Add(d.skew), time.Time{}
	if drain > 0 {
		r.DrainingUntil = r.SeenAt.Add(drain)
	}
	d.rows[r.Name] = r
	return nil
}

func (d *table) Replicas(_ context.Context, within time.Duration) (out []peer.Replica, _ error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.away {
		return nil, errAway
	}
	now := time.Now().Add(d.skew)
	for _, name := range []string{"a", "b"} {
		if r, ok := d.rows[name]; ok {
			r.Alive = r.DrainingUntil.IsZero() && now.Sub(r.SeenAt) < within
			r.Present = r.Alive || r.DrainingUntil.After(now)
			out = append(out, r)
		}
	}
	return out, nil
}

func (d *table) leave(away bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.away = away
}

func member(t *testing.T, d *table, name string) (m *peer.Members, stop func()) {
	t.Helper()
	m, err := peer.NewMembers(peer.MembersConfig{Store: d, Self: peer.Replica{Name: name, URL: "http://" + name}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	return m, func() { cancel(); <-done }
}

func TestNobodyIsGoneBecauseTheDatabaseWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &table{rows: map[string]peer.Replica{}, skew: 10 * time.Minute}
		a, stopA := member(t, d, "a")
		_, stopB := member(t, d, "b")
		pass(20 * time.Second)
		if off := time.Until(a.Now()); off < 9*time.Minute || off > 11*time.Minute {
			t.Errorf("a thinks that the database's clock is %v ahead", off)
		}
		d.leave(true)
		pass(time.Minute)
		d.leave(false)
		// a is the first that is back.
		if err := a.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r, ok := a.Named("b"); !ok || !r.Present {
			t.Error("b counts as gone after the database was away")
		}
		pass(time.Minute)
		if _, ok := a.Named("b"); !ok {
			t.Error("b is gone although it beats")
		}
		stopB()
		if err := a.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if known := a.Known(); len(known) != 2 || known[1].Alive || !known[1].Present {
			t.Errorf("after b stopped in order: %+v", known)
		}
		pass(peer.DrainTime + 2*peer.HeartbeatEvery)
		if known := a.Known(); known[1].Present {
			t.Errorf("b is still waited for: %+v", known[1])
		}
		stopA()
	})
}

func TestOneThatDiesIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &table{rows: map[string]peer.Replica{}}
		a, stopA := member(t, d, "a")
		_, stopB := member(t, d, "b")
		pass(20 * time.Second)
		stopB()
		d.mu.Lock()
		b := d.rows["b"]
		b.DrainingUntil = time.Time{} // it announced nothing
		d.rows["b"] = b
		d.mu.Unlock()
		pass(peer.AliveFor + 7*time.Second)
		if _, ok := a.Named("b"); ok {
			t.Error("b counts as alive long after its last heartbeat")
		}
		stopA()
	})
}
