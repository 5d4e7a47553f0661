package tunnel

import (
	"slices"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/pool"
)

const (
	// retryExhausted is when to retry after a limit was reached.
	retryExhausted = 5 * time.Second
	// adminsShare is the part of the requests that is for administrators.
	adminsShare = 10
	// acceptEvery and acceptBurst limit new connections, each of which costs a
	// handshake; agents beyond that are told when to retry. Those of one cluster
	// are fewer: an agent dials once.
	acceptEvery        = time.Second / 400
	acceptBurst        = 1000
	clusterAcceptEvery = time.Second
	clusterAcceptBurst = 20
)

// pools are what the clusters' requests and the agents' connections share.
type pools struct {
	// cluster is the pattern of the pool of each connection.
	cluster, replica, probes, hints *pool.Places
	dials                           *pool.Rates
	project                         func(clusterID string) string
}

func newPools(c Config) *pools {
	requests := func(name, of string, size int, named bool) *pool.Places {
		return c.Pools.Places(pool.Spec{Name: name, Of: of, Size: size, Reserve: size / adminsShare, Retry: retryExhausted, Named: named})
	}
	return &pools{
		cluster: requests("cluster_requests", "requests to a cluster", c.MaxPerCluster, true),
		replica: requests("replica_requests", "requests to clusters through this replica", c.MaxPerHub, false),
		hints:   c.Pools.Places(pool.Spec{Name: "hints", Of: "hints to agents", Size: hinting, Retry: retryExhausted}),
		probes:  c.Pools.Places(pool.Spec{Name: "tunnel_probes", Of: "tests of WebSockets", Size: maxProbes, Retry: probeWithin}),
		dials: c.Pools.Rates(pool.RateSpec{
			Name: "tunnel_dials", Of: "tunnels", Clock: c.Clock,
			Caller: pool.Rate{Burst: clusterAcceptBurst, Every: clusterAcceptEvery}, Project: pool.Rate{Burst: acceptBurst / 2, Every: 2 * acceptEvery},
			All: pool.Rate{Burst: acceptBurst, Every: acceptEvery},
		}),
		project: c.Project,
	}
}

// enter takes the places of a request; c is nil for one to another replica, where its
// cluster's pool is.
func (p *pools) enter(c *connection, clusterID string, who *agentv1.StreamIdentity) (held []*pool.Held, err error) {
	caller := pool.Caller{Name: who.GetUser(), Reserved: slices.Contains(who.GetGroups(), identity.AdminsGroup)}
	if c != nil {
		// The users of a cluster are all of those who may use it.
		one, err := c.places.Take(caller)
		if err != nil {
			return nil, err
		}
		held = append(held, one)
	}
	caller.Project = p.project(clusterID)
	one, err := p.replica.Take(caller)
	if err != nil {
		for _, before := range held {
			before.Leave()
		}
		return nil, err
	}
	return append(held, one), nil
}
