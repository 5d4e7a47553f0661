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
	// AliveFor is how long a replica counts as there after its last heartbeat.
	AliveFor = 20 * time.Second
	// DrainTime is how long a leaving replica keeps what it owns, so that one
	// which only restarts loses nothing.
	DrainTime = 120 * time.Second
)

// Replica is one process of the hub, or was one within the last days.
type Replica struct {
	// Name is stable over restarts and unique.
	Name string
	// URL is how the others reach it; empty when they cannot.
	URL     string
	Version string
	// StartedAt is when the process began, by its own clock.
	StartedAt time.Time
	// SeenAt is its last heartbeat by the database's clock.
	SeenAt time.Time
	// DrainingUntil is set when it said that it stops: until then nobody takes
	// what is placed on it, since it may only start again.
	DrainingUntil time.Time
	// Leaving is set by a person: it is to own nothing any more. A replica
	// that starts anew is not leaving.
	Leaving bool
	// Alive says that it beat lately and does not stop; Present that it is
	// alive or may be back before DrainingUntil. Both by the database's clock.
	Alive, Present bool
	Condition
}

// Condition is what a replica says of itself with each heartbeat.
type Condition struct {
	// Position is how far its indexes followed the change feed, and FeedAge
	// how long ago it last knew that it had read all there was.
	Position position.Position
	FeedAge  time.Duration
	// DiskFree and DiskTotal are bytes of the disk with its data folder.
	DiskFree, DiskTotal int64
}

// MemberStore keeps the rows of replicas.
type MemberStore interface {
	// Heartbeat writes this replica's row; SeenAt becomes the database's now,
	// DrainingUntil that plus drain, or none when drain is zero. A row with
	// another StartedAt is not Leaving any more.
	Heartbeat(ctx context.Context, r Replica, drain time.Duration) error
	// Replicas returns all that are known, in order of name, Alive when their
	// last heartbeat is not older than within.
	Replicas(ctx context.Context, within time.Duration) ([]Replica, error)
}

// MembersConfig is what Members needs. Condition, Clock and Log may be nil.
type MembersConfig struct {
	Store MemberStore
	// Self is this replica: name, URL and version.
	Self Replica
	// Condition is asked before each heartbeat.
	Condition func() Condition
	Clock     clock.Clock
	Log       *slog.Logger
}

// Members knows which replicas are there, as of the last heartbeat.
type Members struct {
	MembersConfig
	mu     sync.Mutex
	known  []Replica
	offset time.Duration // of the database's clock from this machine's
	looked time.Time     // last good look
	// amnesty goes to those who were there before the database, or this
	// replica, was away: nobody could beat, and all may be back in a moment.
	amnesty time.Time
	missed  map[string]bool
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
	if c.Condition == nil {
		c.Condition = func() Condition { return Condition{} }
	}
	c.Self.SeenAt = c.Clock.Now()
	c.Self.StartedAt = c.Self.SeenAt
	c.Self.Alive, c.Self.Present = true, true
	return &Members{MembersConfig: c, known: []Replica{c.Self}}, nil
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
// Replicas sign their calls with it, so that one whose clock is off can still
// be talked to.
func (m *Members) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.Clock.Now().Add(m.offset)
}

// After implements clock.Clock.
func (m *Members) After(d time.Duration) <-chan time.Time { return m.Clock.After(d) }

// Look reads who is there now, for a decision that must not rest on what the
// last heartbeat saw.
func (m *Members) Look(ctx context.Context) error {
	known, err := m.Store.Replicas(ctx, AliveFor)
	if err != nil {
		return err
	}
	self := slices.IndexFunc(known, func(r Replica) bool { return r.Name == m.Self.Name })
	if self < 0 {
		known, self = append(known, m.Self), len(known)
	}
	// The row may still be what an earlier life of this replica left.
	mine := &known[self]
	mine.Alive, mine.Present = true, true
	mine.Leaving = mine.Leaving && mine.StartedAt.Equal(m.Self.StartedAt.Truncate(time.Microsecond))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgive(known)
	m.known = known
	return nil
}

// forgive counts replicas as alive whose heartbeats are old because nobody's
// could be written, for as long as it takes to beat again.
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

// leave says that this replica stops. A failure is the same as a crash, which
// the others stand too.
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

// Known returns all replicas of the last days, this one included, by name.
func (m *Members) Known() []Replica {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Replica(nil), m.known...)
}

// Alive returns all replicas that are there and do not stop, this one
// included, by name.
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

// Named returns a replica that is there by its name.
func (m *Members) Named(name string) (Replica, bool) {
	for _, r := range m.Alive() {
		if r.Name == name {
			return r, true
		}
	}
	return Replica{}, false
}
