package tunnel

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/lifecycle"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/pool"
)

// The states of a cluster's tunnel.
const (
	// Up: a replica of this hub holds a connection.
	Up = "Up"
	// Down: the agent keeps a tunnel, but there is none now.
	Down = "Down"
	// Off: the agent was configured to keep none, and says so.
	Off = "Off"
)

// ErrNone is Unavailable: the cluster has no tunnel to any replica now. The
// caller knows the cluster's name.
var ErrNone = errcode.New(errcode.Unavailable, "the cluster has no tunnel to this hub now; see that its agent runs and may open WebSockets to the hub: axle-agent doctor")

// An agent that was cut off is back within seconds, and so are all agents when
// a hub has just started: requests within backWithin are told to retry.
// Kubernetes clients then retry ten times before they give up, so for a cluster
// that stays away, later requests are not told to retry.
const (
	backWithin = 30 * time.Second
	retryNone  = 5 * time.Second
)

// Tunnels holds the tunnels of all clusters, as this replica sees them.
type Tunnels struct {
	config    Config
	transport *http.Transport
	pools     *pools
	metrics   *metrics
	hints     *hints
	peers     *peers
	begun     time.Time
	// running are goroutines of connections.
	running sync.WaitGroup

	mu       sync.Mutex
	stopping bool
	current  map[string]*connection // by cluster
	old      map[*connection]bool   // that only finish their streams
	since    map[string]state       // of clusters whose tunnel was here
	streams  map[*flow]bool
}

// state is when a cluster's tunnel came or went, or its agent reported that it
// keeps none.
type state struct {
	State string `json:"state"`
	// At is microseconds since 1970 UTC.
	At int64 `json:"at"`
}

// New returns Tunnels without connections.
func New(c Config) (*Tunnels, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	t := &Tunnels{
		config: c, transport: newTransport(c.PingAfter, c.AnswerWithin), pools: newPools(c),
		begun:   c.Clock.Now(),
		current: map[string]*connection{}, old: map[*connection]bool{}, since: map[string]state{}, streams: map[*flow]bool{},
	}
	t.hints = newHints(t)
	t.peers = newPeers(t)
	t.metrics = newMetrics(c.Registerer, t)
	return t, nil
}

// Run maintains the connections until the context ends, then makes the agents
// dial another replica and closes them.
func (t *Tunnels) Run(ctx context.Context) error {
	err := lifecycle.Run(ctx,
		lifecycle.Part{Name: "connections", Run: t.sweep},
		lifecycle.Part{Name: "hints", Run: t.hints.run},
		lifecycle.Part{Name: "other replicas", Run: t.peers.run})
	t.stop(context.WithoutCancel(ctx))
	return err
}

// The stop of a replica: stopNotice is how long notifying all agents may take,
// and drain how long running requests get, within the time limit of the whole
// hub.
const (
	stopNotice = 2 * time.Second
	drain      = 5 * time.Second
)

// stop makes the agents dial another replica, lets running requests finish, and
// then closes everything.
func (t *Tunnels) stop(ctx context.Context) {
	t.mu.Lock()
	t.stopping = true
	t.mu.Unlock()
	end := time.Now().Add(t.config.Drain)
	t.sayGoodbye(ctx)
	for time.Now().Before(end) && t.busy() {
		// It polls, because a stream does not signal its end.
		<-time.After(50 * time.Millisecond)
	}
	t.mu.Lock()
	all := slices.Concat(slices.Collect(maps.Values(t.current)), slices.Collect(maps.Keys(t.old)))
	t.mu.Unlock()
	for _, c := range all {
		c.close()
	}
	t.peers.close()
	t.running.Wait()
}

// sayGoodbye tells all agents to dial again, as many as time allows.
func (t *Tunnels) sayGoodbye(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopNotice)
	defer cancel()
	var telling errgroup.Group
	telling.SetLimit(hinting)
	t.all(func(c *connection) {
		telling.Go(func() error {
			if ctx.Err() == nil {
				t.sendAway(ctx, c, "this replica stops", stopNotice)
			}
			return nil
		})
	})
	_ = telling.Wait() // none returns an error
}

func (t *Tunnels) busy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.streams) > 0
}

// Open opens a stream to a cluster. ctx limits the stream's whole life, not
// only its beginning. The error is ErrNone when the cluster has no tunnel, with
// RetryAfter when it had one within the last 30 s or the hub has just started.
// It is Exhausted (HTTP 429), with RetryAfter and the users with the most
// streams, when a pool has no place for the caller: that of the cluster, of 450, or that of
// this replica.
func (t *Tunnels) Open(ctx context.Context, clusterID string, head *agentv1.StreamHead) (*Stream, error) {
	s, err := t.open(ctx, clusterID, head)
	if s == nil && err == nil {
		s, err = t.peers.open(ctx, clusterID, head)
	}
	if errors.Is(err, ErrNone) && t.mayComeBack(clusterID) {
		err = errcode.New(errcode.Unavailable, "%w", err).After(retryNone)
	}
	if err != nil {
		return nil, err
	}
	return &Stream{s}, nil
}

// mayComeBack reports whether a cluster's tunnel was lost so recently that it
// is likely to come back.
func (t *Tunnels) mayComeBack(clusterID string) bool {
	now := t.config.Clock.Now()
	state, at := t.State(clusterID)
	return state != Off && (now.Sub(t.begun) < backWithin || now.Sub(clock.FromMicros(at)) < backWithin)
}

// State returns Up, Down or Off, and since when, in microseconds since 1970
// UTC; 0 is unknown.
func (t *Tunnels) State(clusterID string) (string, int64) {
	t.mu.Lock()
	here := t.since[clusterID]
	t.mu.Unlock()
	if here.State == Up {
		return Up, here.At
	}
	there := t.peers.state(clusterID)
	if there.State == Up || there.At > here.At {
		here = there
	}
	if here.State == "" {
		return Down, 0
	}
	return here.State, here.At
}

// now records the state of a cluster's tunnel here. The caller holds mu.
func (t *Tunnels) now(clusterID, what string) {
	if t.since[clusterID].State == what {
		return
	}
	t.since[clusterID] = state{what, clock.Micros(t.config.Clock.Now())}
	t.peers.changed(clusterID)
}

// off records that an agent keeps no tunnel.
func (t *Tunnels) off(clusterID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current[clusterID] == nil {
		t.now(clusterID, Off)
	}
}

// open opens a stream over a connection of this replica; nil without error when
// there is none.
func (t *Tunnels) open(ctx context.Context, clusterID string, head *agentv1.StreamHead) (*flow, error) {
	user := head.GetIdentity().GetUser()
	if user == "" {
		return nil, errcode.New(errcode.Internal, "a stream was opened without a caller")
	}
	raw, err := encode(head)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	c := t.current[clusterID]
	if c == nil || c.gone() {
		t.mu.Unlock()
		return nil, nil
	}
	if what := c.cannot(head); what != "" {
		t.mu.Unlock()
		return nil, errcode.New(errcode.Unprocessable, "the agent of cluster %s is of version %s and does not answer %s yet; upgrade it (axle agents upgrade)", c.clusterName, c.version, what)
	}
	held, err := t.pools.enter(c, clusterID, head.GetIdentity())
	if err != nil {
		t.mu.Unlock()
		return nil, err
	}
	s := newFlow(ctx, t.config.Clock, "cluster "+c.clusterName, c)
	s.upgrade = head.GetUpgrade() != ""
	t.count(s, held)
	t.mu.Unlock()
	if !hasBody(head) && c.inline && len(raw) <= maxInline {
		s.prepare(c.cc, raw, c.unary(head))
	} else {
		s.begin(c.cc, streamPath, http.Header{}, raw, hasBody(head))
	}
	return s, nil
}

// count adds a stream until it ends. The caller holds mu.
func (t *Tunnels) count(s *flow, held []*pool.Held) {
	t.streams[s] = true
	s.held = held
	t.metrics.opened.Inc()
	if s.conn != nil {
		s.conn.streams++
	}
	s.leave = after(s.ctx, func() { t.done(s) })
}

// done removes a stream.
func (t *Tunnels) done(s *flow) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.streams[s] {
		return
	}
	delete(t.streams, s)
	for _, held := range s.held {
		held.Leave()
	}
	if s.conn != nil {
		s.conn.streams--
	}
}

// hold makes a connection its cluster's current one. The previous one finishes
// its streams.
func (t *Tunnels) hold(c *connection) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopping {
		return errcode.New(errcode.Unavailable, "this replica is stopping; dial again to reach another one").After(time.Second)
	}
	if before := t.current[c.clusterID]; before != nil {
		// The previous one is not told to dial again: if another agent with the
		// same identity had opened it, the two would take the tunnel from each
		// other without end.
		t.retire(before)
	}
	t.current[c.clusterID] = c
	t.now(c.clusterID, Up)
	return nil
}

// retire stops new streams over a connection. The caller holds mu.
func (t *Tunnels) retire(c *connection) {
	if t.current[c.clusterID] == c {
		delete(t.current, c.clusterID)
	}
	if !t.old[c] {
		t.old[c], c.draining, c.closeAt = true, true, t.config.Clock.Now().Add(t.config.Grace)
	}
}

// ended removes a closed connection.
func (t *Tunnels) ended(c *connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.old, c)
	c.places.Close()
	if t.current[c.clusterID] != c {
		return
	}
	delete(t.current, c.clusterID)
	t.now(c.clusterID, Down)
	t.metrics.lost.Inc()
	t.config.Log.Debug("a tunnel went down", logkey.Cluster, c.clusterName)
}

// sendAway tells an agent to dial again. When the message does not arrive, the
// silent connection is closed later.
func (t *Tunnels) sendAway(ctx context.Context, c *connection, reason string, spread time.Duration) {
	_, _ = c.say(ctx, t.config.HelloWithin, &agentv1.ControlRequest{Message: &agentv1.ControlRequest_GoAway{
		GoAway: &agentv1.TunnelGoAway{Reason: reason, SpreadMicros: spread.Microseconds()},
	}})
}
