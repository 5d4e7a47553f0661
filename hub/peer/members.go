package peer

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// HeartbeatEvery is the time between two heartbeats, ± a fifth.
	HeartbeatEvery = 5 * time.Second
	// AliveFor is how long a replica counts as there after its last heartbeat.
	AliveFor = 20 * time.Second
	// DrainTime is how long a leaving replica keeps what it owns, so that one
	// which only restarts loses nothing.
	DrainTime = 120 * time.Second
)

// Replica is one process of the hub.
type Replica struct {
	// Name is stable over restarts and unique.
	Name string
	// URL is how the others reach it; empty when they cannot.
	URL     string
	Version string
	// SeenAt is its last heartbeat by the database's clock.
	SeenAt time.Time
	// DrainingUntil is set when it said that it goes.
	DrainingUntil time.Time
}

// MemberStore keeps the rows of replicas.
type MemberStore interface {
	// Heartbeat writes this replica's row; SeenAt becomes the database's now,
	// DrainingUntil that plus drain, or none when drain is zero.
	Heartbeat(ctx context.Context, r Replica, drain time.Duration) error
	// Replicas returns those with a heartbeat within the time, in order of name.
	Replicas(ctx context.Context, within time.Duration) ([]Replica, error)
}

// MembersConfig is what Members needs. Clock and Log may be nil.
type MembersConfig struct {
	Store MemberStore
	// Self is this replica: name, URL and version.
	Self  Replica
	Clock clock.Clock
	Log   *slog.Logger
}

// Members knows which replicas are there, as of the last heartbeat.
type Members struct {
	MembersConfig
	mu    sync.Mutex
	alive []Replica
}

// NewMembers returns Members that know of this replica alone until Run.
func NewMembers(c MembersConfig) (*Members, error) {
	if c.Store == nil || c.Self.Name == "" {
		return nil, errors.New("peer: members need a store and this replica's name")
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Self.SeenAt = c.Clock.Now()
	return &Members{MembersConfig: c, alive: []Replica{c.Self}}, nil
}

// Run writes heartbeats and looks for others until the context ends. Then it
// announces that this replica drains.
func (m *Members) Run(ctx context.Context) error {
	for {
		if err := m.beat(ctx); err != nil && ctx.Err() == nil {
			m.Log.Warn("the heartbeat of this replica was not written", logkey.Replica, m.Self.Name, logkey.Error, err)
		}
		select {
		case <-m.Clock.After(jitter.Around(HeartbeatEvery, HeartbeatEvery/5)):
		case <-ctx.Done():
			return m.leave(context.WithoutCancel(ctx))
		}
	}
}

func (m *Members) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, HeartbeatEvery)
	defer cancel()
	if err := m.Store.Heartbeat(ctx, m.Self, 0); err != nil {
		return err
	}
	alive, err := m.Store.Replicas(ctx, AliveFor)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.alive = alive
	return nil
}

// leave says that this replica goes. A failure is the same as a crash, which
// the others stand too.
func (m *Members) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, HeartbeatEvery)
	defer cancel()
	if err := m.Store.Heartbeat(ctx, m.Self, DrainTime); err != nil {
		m.Log.Warn("other replicas were not told that this one stops", logkey.Error, err)
	}
	return nil
}

// Alive returns all replicas that are there, this one included, by name.
func (m *Members) Alive() []Replica {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Replica(nil), m.alive...)
}

// Others returns the other replicas that can be reached.
func (m *Members) Others() []Replica {
	var others []Replica
	for _, r := range m.Alive() {
		if r.Name != m.Self.Name && r.URL != "" {
			others = append(others, r)
		}
	}
	return others
}

// Named returns a replica that is there by its name.
func (m *Members) Named(name string) (Replica, bool) {
	for _, r := range m.Alive() {
		if r.Name == name {
			return r, true
		}
	}
	return Replica{}, false
}
