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
	"golang.org/x/time/rate"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/lifecycle"
	"github.com/axle-cd/axle/internal/logkey"
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
	accepts   *rate.Limiter
	probes    chan struct{} // one slot for each held probe
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
	// users counts the streams of each caller.
	users map[string]int
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
		config: c, transport: newTransport(c.PingAfter, c.AnswerWithin), accepts: rate.NewLimiter(acceptRate, acceptBurst),
		probes: make(chan struct{}, maxProbes), begun: c.Clock.Now(),
		current: map[string]*connection{}, old: map[*connection]bool{}, since: map[string]state{}, streams: map[*flow]bool{}, users: map[string]int{},
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
// streams, when the cluster has 450 streams already, or the caller a half of them, or all
// but the last tenth, which is for administrators.
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
	if head.GetReadiness() != nil && !c.readiness {
		t.mu.Unlock()
		return nil, errcode.New(errcode.Unprocessable, "the agent of cluster %s is of version %s and does not answer readiness yet; upgrade it (axle agents upgrade)", c.clusterName, c.version)
	}
	if err := t.room(c, head.GetIdentity()); err != nil {
		t.mu.Unlock()
		t.metrics.refused.Inc()
		return nil, err
	}
	s := newFlow(ctx, t.config.Clock, "cluster "+c.clusterName, user, c)
	s.upgrade = head.GetUpgrade() != ""
	t.count(s)
	t.mu.Unlock()
	if !hasBody(head) && c.inline && len(raw) <= maxInline {
		s.prepare(c.cc, raw, c.unary(head))
	} else {
		s.begin(c.cc, streamPath, http.Header{}, raw, hasBody(head))
	}
	return s, nil
}

// count adds a stream until it ends. The caller holds mu.
func (t *Tunnels) count(s *flow) {
	t.streams[s] = true
	t.users[s.user]++
	t.metrics.opened.Inc()
	if s.conn != nil {
		s.conn.streams++
		s.conn.users[s.user]++
	}
	s.leave = after(s.ctx, func() { t.done(s) })
}

// retryExhausted is when to retry after a limit was reached.
const retryExhausted = 5 * time.Second

// Of each pool of streams one caller has at most a half, and the last tenth is for
// administrators: one reader's watches refuse nobody else, and everybody's do not refuse
// whoever comes to help.
const (
	callersShare = 2
	adminsShare  = 10
)

// room returns why a connection cannot accept another stream of a caller; c is nil for one
// to another replica, where its cluster's pool is. The caller holds mu.
func (t *Tunnels) room(c *connection, caller *agentv1.StreamIdentity) error {
	if c != nil {
		p := pool{c.streams, t.config.MaxPerCluster, c.users[caller.GetUser()], "to cluster " + c.clusterName, "; by " + top(c.users)}
		if err := p.room(caller); err != nil {
			return err
		}
	}
	return pool{len(t.streams), t.config.MaxPerHub, t.users[caller.GetUser()], "to clusters through this replica", ""}.room(caller)
}

// pool are the streams that share a limit, and how many of them are a caller's.
type pool struct {
	running, most, own int
	where, by          string
}

func (p pool) room(caller *agentv1.StreamIdentity) error {
	reserve := p.most / adminsShare
	switch {
	case p.running >= p.most:
		return errcode.New(errcode.Exhausted, "%d requests are under way %s, which is the most%s; end some, or try again in a few seconds", p.running, p.where, p.by).After(retryExhausted)
	case slices.Contains(caller.GetGroups(), identity.AdminsGroup):
		return nil
	case p.own >= max(1, p.most/callersShare):
		return errcode.New(errcode.Exhausted, "%d of your requests are under way %s, which is the share of one caller of %d; end some, or try again in a few seconds", p.own, p.where, p.most).After(retryExhausted)
	case p.running >= p.most-reserve:
		return errcode.New(errcode.Exhausted, "%d requests are under way %s, and the last %d of %d are for administrators%s; end some, or try again in a few seconds", p.running, p.where, reserve, p.most, p.by).After(retryExhausted)
	}
	return nil
}

// done removes a stream.
func (t *Tunnels) done(s *flow) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.streams[s] {
		return
	}
	delete(t.streams, s)
	if t.users[s.user]--; t.users[s.user] == 0 {
		delete(t.users, s.user)
	}
	if s.conn == nil {
		return
	}
	s.conn.streams--
	if s.conn.users[s.user]--; s.conn.users[s.user] == 0 {
		delete(s.conn.users, s.user)
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
