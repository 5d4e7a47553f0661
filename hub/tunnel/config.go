package tunnel

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/pool"
)

const (
	// maxPerCluster and maxPerHub limit streams.
	maxPerCluster = 450
	maxPerHub     = 20_000
	// stallAfter is how long a client may read nothing while bytes wait.
	stallAfter = 30 * time.Second
	// helloWithin is how long the agent's first answer may take.
	helloWithin = 10 * time.Second
	// pingAfter is how long a connection may be idle before it is pinged, and
	// answerWithin how long the answer may take: a dead one is found within 45
	// s when it is idle.
	pingAfter    = 25 * time.Second
	answerWithin = 20 * time.Second
	// doubtAfter is how long a stream waits for its answer before the agent is
	// pinged, and proofWithin how long that answer may take.
	doubtAfter  = 5 * time.Second
	proofWithin = 4 * time.Second
	// maxLife is how long a connection is used, with up to lifeSpread more;
	// grace is how long its streams may continue afterwards.
	maxLife    = 110 * time.Minute
	lifeSpread = 10 * time.Minute
	grace      = time.Hour
	// hintRate and hintBurst limit hints, because each leads to a poll: a
	// change of everything at once reaches 5,000 clusters within half a minute.
	hintRate  = 200
	hintBurst = 100
	// hintRest is the minimum time between two hints to the same cluster.
	hintRest = 100 * time.Millisecond
)

// Identity authenticates clusters.
type Identity interface {
	Authenticate(ctx context.Context, bearer string) (identity.Principal, error)
	// DeployToken reports whether a token is still valid, and whether its
	// cluster has any valid one.
	DeployToken(tokenID, clusterID string) (good, others bool)
}

// Desired returns the etag of a cluster's current list.
type Desired interface {
	ETag(clusterID string) (string, error)
}

// Feed returns the position of this replica.
type Feed interface {
	Position() event.Position
	Incarnation() event.Incarnation
	// CatchUp returns Unavailable when the position is not reached within 2 s,
	// or the caller is not known.
	CatchUp(ctx context.Context, seen event.Position, known func(context.Context) error) error
}

// Replicas are the other replicas of this hub.
type Replicas interface {
	Others() []peer.Replica
	Named(name string) (peer.Replica, bool)
}

// Config configures Tunnels. The fields before the blank line are required.
type Config struct {
	Identity Identity
	Desired  Desired
	Feed     Feed
	// Replica names this replica.
	Replica string

	// Replicas are asked for tunnels that are not here; nil for a single
	// replica.
	Replicas Replicas
	// PeerKey signs calls between replicas.
	PeerKey []byte
	// PeerClock is the replicas' common time; nil is Clock.
	PeerClock clock.Clock
	// Pools has the pools; nil has them without metrics.
	Pools *pool.Set
	// Project returns the id of a cluster's project; nil knows none.
	Project func(clusterID string) string
	// Zero values mean the limits and times above; tests need others.
	MaxPerCluster, MaxPerHub                            int
	StallAfter, HelloWithin, PingAfter, AnswerWithin    time.Duration
	DoubtAfter, ProofWithin, MaxLife, LifeSpread, Grace time.Duration
	HintRate                                            float64
	HintRest                                            time.Duration
	// Drain is how long running requests get when this replica stops.
	Drain time.Duration
	// Sweep is how often all connections are checked; zero is 1 s.
	Sweep time.Duration

	Clock clock.Clock
	Log   *slog.Logger
	// Registerer registers the metrics; nil registers none.
	Registerer prometheus.Registerer
}

func (c *Config) check() error {
	if c.Identity == nil || c.Desired == nil || c.Feed == nil || c.Replica == "" {
		return errors.New("tunnel: identity, desired lists, a feed and this replica's name are needed")
	}
	if c.Replicas != nil && len(c.PeerKey) == 0 {
		return errors.New("tunnel: replicas need a key")
	}
	c.MaxPerCluster = cmp.Or(c.MaxPerCluster, maxPerCluster)
	c.MaxPerHub = cmp.Or(c.MaxPerHub, maxPerHub)
	c.StallAfter = cmp.Or(c.StallAfter, stallAfter)
	c.HelloWithin = cmp.Or(c.HelloWithin, helloWithin)
	c.PingAfter = cmp.Or(c.PingAfter, pingAfter)
	c.AnswerWithin = cmp.Or(c.AnswerWithin, answerWithin)
	c.DoubtAfter = cmp.Or(c.DoubtAfter, doubtAfter)
	c.ProofWithin = cmp.Or(c.ProofWithin, proofWithin)
	c.MaxLife = cmp.Or(c.MaxLife, maxLife)
	c.LifeSpread = cmp.Or(c.LifeSpread, lifeSpread)
	c.Grace = cmp.Or(c.Grace, grace)
	c.HintRate = cmp.Or(c.HintRate, hintRate)
	c.HintRest = cmp.Or(c.HintRest, hintRest)
	c.Drain = cmp.Or(c.Drain, drain)
	c.Sweep = cmp.Or(c.Sweep, time.Second)
	if c.Project == nil {
		c.Project = func(string) string { return "" }
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.PeerClock == nil {
		c.PeerClock = c.Clock
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}
