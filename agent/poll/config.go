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
)

const (
	// DefaultInterval is the product's: most changes come by hint, and 10,000
	// clusters are 83 polls a second.
	DefaultInterval = 2 * time.Minute
	// MinInterval is for demos and tests.
	MinInterval = time.Second
	// firstPollSpread bounds the random wait before the first poll of an agent
	// that was registered before: a region that restarts does not come at once.
	firstPollSpread = 30 * time.Second
	// workers bounds the passes under way; renders are two at a time anyway.
	workers = 4
	// passTimeout bounds one pass with its download.
	passTimeout = 20 * time.Minute
	// readsEvery is how many polls pass before looked-up objects are read again.
	readsEvery = 10
	// wholePeriod is how often all statuses and facts are sent unasked.
	wholePeriod = 2 * time.Hour
	// appliedRest, for each service, is how long nothing is written of what is
	// applied while passes run.
	appliedRest = 5 * time.Millisecond
	// listRest, for each service, is how long hints wait after a list, with more
	// services than restFrom. A list of 2,000 takes some 45 ms of a core.
	listRest = time.Millisecond
	restFrom = 100
	// refreshEvery is how often it is looked whether a tree is to be checked or
	// downloaded again.
	refreshEvery = time.Minute
	// quiet is how long the reporter waits for more to change.
	quiet = 500 * time.Millisecond
)

// Config is what a Loop needs. All interfaces but Tests are required.
type Config struct {
	Hub   Hub
	Cache *cache.Cache
	// Gate says as whom services act.
	Gate      *tenancy.Gate
	Render    Renderer
	Apply     Applier
	Claims    Claims
	Inventory Inventory
	Watch     Watch
	Cluster   Cluster
	// Tests runs what is marked as a test; without it such objects are left
	// out.
	Tests Tests

	// Heals are told to the hub; without it nobody is told.
	Heals Heals
	// Errands and Diffs do what people ask for beside whole syncs; without them
	// it is not done.
	Errands Errands
	Diffs   Diffs
	// Previews works out what somebody wants compared beside; nil does not.
	Previews preview.Answerer

	// List is the last list, verified; nil when there is none. ETag names it.
	List *agentv1.Desired
	// Remembered is what was stored with it.
	Remembered cache.Remembered
	// Fresh: the cluster was registered just now and need not wait.
	Fresh bool

	// BootID is random for each start.
	BootID string
	// AgentVersion is told to the hub, and so is Installation, nil for an agent
	// that cannot replace itself.
	AgentVersion string
	Installation *agentv1.Installation
	// Former is told, at each poll that finds some, of ended registrations of
	// this cluster; nil when nobody wants to know.
	Former func(ctx context.Context, clusters []string) error
	// Interval between polls; DefaultInterval when zero. The hub's list may
	// name another, unless Fixed.
	Interval time.Duration
	// Fixed keeps Interval whatever the list says.
	Fixed bool

	// Clock is the real one when nil.
	Clock clock.Clock
	// Log is silent when nil.
	Log *slog.Logger
	// Registerer takes the metrics; nil registers none.
	Registerer prometheus.Registerer
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
