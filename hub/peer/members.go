package peer

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/position"
)

const (
	// HeartbeatEvery is the time between two heartbeats, ± a fifth.
	HeartbeatEvery = 5 * time.Second
	// AliveFor is how long a replica counts as alive after its last heartbeat.
	AliveFor = 20 * time.Second
	// DrainTime is how long a stopping replica keeps what it owns, so that one
	// that only restarts loses nothing.
	DrainTime = 120 * time.Second
)

// Replica is a process of the hub, or was one in the last days.
type Replica struct {
	// Name is stable over restarts and unique.
	Name string
	// URL is its URL for the others; empty when they cannot reach it.
	URL     string
	Version string
	// StartedAt is when the process began, by its own clock.
	StartedAt time.Time
	// SeenAt is its last heartbeat by the database's clock.
	SeenAt time.Time
	// DrainingUntil is set when it announced its stop: until then no replica
	// takes what is placed on it, since it may only restart.
	DrainingUntil time.Time
	// Leaving is set when a person drained it: it is to own nothing. A
	// restarted replica is not leaving.
	Leaving bool
	// Alive is set when it sent a heartbeat lately and does not stop; Present
	// when it is alive or may be back before DrainingUntil. Both are by the
	// database's clock.
	Alive, Present bool
	Condition
}

// Condition is a replica's state, reported with each heartbeat.
type Condition struct {
	// Position is how far its indexes followed the change feed, and FeedAge how
	// long ago it had last read everything.
	Position position.Position
	FeedAge  time.Duration
	// DiskFree and DiskTotal are bytes of the disk with its data folder.
	DiskFree, DiskTotal int64
}

// MemberStore stores the rows of replicas.
type MemberStore interface {
	// Heartbeat writes this replica's row; SeenAt becomes the database's now,
	// DrainingUntil that plus drain, or none when drain is zero. A row with
	// another StartedAt stops being Leaving.
	Heartbeat(ctx context.Context, r Replica, drain time.Duration) error
	// Replicas returns all known replicas, in order of name, Alive when their
	// last heartbeat is not older than within.
	Replicas(ctx context.Context, within time.Duration) ([]Replica, error)
}

// MembersConfig holds the dependencies of Members. Condition, Clock and Log may
// be nil.
type MembersConfig struct {
	Store MemberStore
	// Self is this replica: name, URL and version.
	Self Replica
	// Condition is called before each heartbeat.
	Condition func() Condition
	Clock     clock.Clock
	Log       *slog.Logger
}

// Members knows which replicas are alive, as of the last heartbeat.
type Members struct {
	MembersConfig
	mu     sync.Mutex
	known  []Replica
	offset time.Duration // of the database's clock from this machine's
	looked time.Time     // last successful read
	// amnesty is for replicas that were alive before the database, or this
	// replica, was unavailable: nobody could send heartbeats, and all may be
	// back in a moment.
	amnesty time.Time
	missed  map[string]bool
}

// NewMembers returns Members that know only this replica before Run.
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
	if c.Condition == nil {
		c.Condition = func() Condition { return Condition{} }
	}
	c.Self.SeenAt = c.Clock.Now()
	c.Self.StartedAt = c.Self.SeenAt
	c.Self.Alive, c.Self.Present = true, true
	return &Members{MembersConfig: c, known: []Replica{c.Self}}, nil
}

// Run writes heartbeats and reads those of others until the context ends. Then
// it announces that this replica drains.
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
	self := m.Self
	self.Condition = m.Condition()
	before := m.Clock.Now()
	if err := m.Store.Heartbeat(ctx, self, 0); err != nil {
		return err
	}
	if err := m.Look(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.known {
		if r.Name == m.Self.Name && !r.SeenAt.IsZero() {
			m.offset = r.SeenAt.Sub(before)
		}
	}
	return nil
}

// Now implements clock.Clock: the database's time, as of the last heartbeat.
// Replicas sign their calls with it, so that one with a wrong clock can still
// be called.
func (m *Members) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.Clock.Now().Add(m.offset)
}

// After implements clock.Clock.
func (m *Members) After(d time.Duration) <-chan time.Time { return m.Clock.After(d) }

// Look reads which replicas are alive now, for a decision that needs newer data
// than the last heartbeat.
func (m *Members) Look(ctx context.Context) error {
	known, err := m.Store.Replicas(ctx, AliveFor)
	if err != nil {
		return err
	}
	self := slices.IndexFunc(known, func(r Replica) bool { return r.Name == m.Self.Name })
	if self < 0 {
		known, self = append(known, m.Self), len(known)
	}
	// The row may still be from an earlier run of this replica.
	mine := &known[self]
	mine.Alive, mine.Present = true, true
	mine.Leaving = mine.Leaving && mine.StartedAt.Equal(m.Self.StartedAt.Truncate(time.Microsecond))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgive(known)
	m.known = known
	return nil
}

// forgive counts replicas as alive whose heartbeats are old because none could
// be written, for as long as new ones take.
func (m *Members) forgive(known []Replica) {
	now := m.Clock.Now()
	if !m.looked.IsZero() && now.Sub(m.looked) > AliveFor/2 {
		m.amnesty, m.missed = now.Add(AliveFor), map[string]bool{}
		for _, r := range m.known {
			m.missed[r.Name] = r.Alive
		}
	}
	m.looked = now
	if now.After(m.amnesty) {
		return
	}
	for i := range known {
		if r := &known[i]; m.missed[r.Name] && r.DrainingUntil.IsZero() {
			r.Alive, r.Present = true, true
		}
	}
}

// leave announces that this replica stops. A failure is like a crash, which the
// others handle too.
func (m *Members) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, HeartbeatEvery)
	defer cancel()
	self := m.Self
	self.Condition = m.Condition()
	if err := m.Store.Heartbeat(ctx, self, DrainTime); err != nil {
		m.Log.Warn("other replicas were not told that this one stops", logkey.Error, err)
	}
	return nil
}

// Known returns all replicas of the last days, including this one, by name.
func (m *Members) Known() []Replica {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Replica(nil), m.known...)
}

// Alive returns all replicas that are alive and do not stop, including this
// one, by name.
func (m *Members) Alive() []Replica {
	var alive []Replica
	for _, r := range m.Known() {
		if r.Alive {
			alive = append(alive, r)
		}
	}
	return alive
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

// Named returns an alive replica by its name.
func (m *Members) Named(name string) (Replica, bool) {
	for _, r := range m.Alive() {
		if r.Name == name {
			return r, true
		}
	}
	return Replica{}, false
}
