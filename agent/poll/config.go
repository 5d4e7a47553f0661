package poll

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/axle-cd/axle/agent/cache"
	"github.com/axle-cd/axle/agent/preview"
	"github.com/axle-cd/axle/agent/tenancy"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/pool"
)

const (
	// DefaultInterval is the product's default: most changes arrive by hint, and
	// 10,000 clusters make 83 polls a second.
	DefaultInterval = 2 * time.Minute
	// MinInterval is for demos and tests.
	MinInterval = time.Second
	// firstPollSpread bounds the random wait before the first poll of a registered
	// agent, so that the agents of a restarting region do not all poll at once.
	firstPollSpread = 30 * time.Second
	// workers bounds the running passes of one project, of which at most two render at a
	// time anyway. Others find places beside them, see passPlaces.
	workers = 4
	// passTimeout bounds one pass including its download.
	passTimeout = 20 * time.Minute
	// readsEvery is after how many polls looked-up objects are read again.
	readsEvery = 10
	// appliedRest, times the number of services, is the minimum time between two
	// writes of the applied revisions while passes run.
	appliedRest = 5 * time.Millisecond
	// listRest, times the number of services, is how long hints wait after a list,
	// above restFrom services. A list of 2,000 services takes about 45 ms of a core.
	listRest = time.Millisecond
	restFrom = 100
	// refreshEvery is how often to check whether trees are due to be verified or
	// downloaded again.
	refreshEvery = time.Minute
)

// Config is what a Loop needs. All interfaces but Tests are required.
type Config struct {
	Hub   Hub
	Cache *cache.Cache
	// Gate decides with which account services act.
	Gate      *tenancy.Gate
	Render    Renderer
	Apply     Applier
	Claims    Claims
	Inventory Inventory
	Watch     Watch
	Cluster   Cluster
	// Tests runs objects marked as tests; without it such objects are left out.
	Tests Tests

	// Heals are reported to the hub; without it they are not.
	Heals Heals
	// OnDemand and Diffs handle people's requests other than full syncs; without them
	// such requests are ignored.
	OnDemand OnDemand
	Diffs    Diffs
	// Previews answers requests for previews; nil answers none.
	Previews preview.Answerer

	// Specs is called with all specs at the start and when one arrived or went, if it is
	// set. It must not block or call the Loop.
	Specs func(all []*agentv1.ServiceSpec)
	// Destroying is called with what each accepted list says, as Specs is.
	Destroying func(destroying bool)

	// List is the last list, verified; nil if there is none. ETag names it.
	List *agentv1.Desired
	// Remembered is what was stored with it.
	Remembered cache.Remembered
	// Fresh: the cluster was registered just now, so the first poll need not wait.
	Fresh bool

	// BootID is random for each start.
	BootID string
	// AgentVersion is reported to the hub, and so is Installation, which is nil for
	// an agent that cannot replace itself.
	AgentVersion string
	Installation *agentv1.Installation
	// Former is called at each poll that names ended registrations of this cluster;
	// it may be nil.
	Former func(ctx context.Context, clusters []string) error
	// Interval is the time between polls; DefaultInterval when zero. The hub's list
	// may set another one, unless Fixed.
	Interval time.Duration
	// Fixed keeps Interval regardless of the list.
	Fixed bool

	// Clock is the real one when nil.
	Clock clock.Clock
	// Log is silent when nil.
	Log *slog.Logger
	// Registerer takes the metrics; nil registers none.
	Registerer prometheus.Registerer
	// Pools takes the pool of running passes; nil shows none.
	Pools *pool.Set
}

func (c *Config) check() error {
	if c.Hub == nil || c.Cache == nil || c.Gate == nil || c.Render == nil || c.Apply == nil || c.Claims == nil || c.Inventory == nil || c.Watch == nil || c.Cluster == nil {
		return errors.New("poll: a hub, a cache, a gate, the steps and a cluster are needed")
	}
	if c.Interval == 0 {
		c.Interval = DefaultInterval
	}
	c.Interval = max(c.Interval, MinInterval)
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}
