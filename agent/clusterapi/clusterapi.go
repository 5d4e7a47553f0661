package clusterapi

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/pool"
)

const (
	// lookEvery is how often a cluster that is not connected yet is looked at.
	lookEvery = 5 * time.Second
	// atATime is how many clusters of one project are worked on together: those that do not
	// answer must not hold up the others.
	atATime = 8
	// stepLimit bounds the work on one cluster at a time, and a report.
	stepLimit = 2 * time.Minute
)

// Hub is asked for what connects a cluster, and gets the states of all.
type Hub interface {
	EnrollChild(ctx context.Context, r *agentv1.EnrollChildRequest) (*agentv1.Child, error)
	ReportChildren(ctx context.Context, r *agentv1.ReportChildrenRequest) error
}

// Config is what Clusters needs. All fields but Namespace and Pools are required.
type Config struct {
	Hub Hub
	// Client and Dynamic reach this cluster.
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	// Namespace is that of this agent; empty is the standard one.
	Namespace string
	BootID    string
	Clock     clock.Clock
	Log       *slog.Logger
	// Pools takes the pool of clusters that are worked on; nil shows none.
	Pools *pool.Set
}

// Clusters are those that services of this cluster make. Its methods are safe for
// concurrent use.
type Clusters struct {
	config Config
	wake   chan struct{}
	// looks are the clusters that are worked on, by project; looking ends with the last.
	looks   *pool.Places
	looking sync.WaitGroup
	// observeAt is when to read Cluster API's objects again; changed is set when there is
	// something to report before.
	observeAt time.Time
	// movingUntil is until when clusters may begin to change after a new list: their services
	// are applied a moment after it came. Only Run uses it.
	movingUntil time.Time
	changed     atomic.Bool

	mu  sync.Mutex
	all []*child // in order of service
	// makers are the services by their namespaces.
	makers map[string]string
}

// asking is when the hub was last asked for what connects a cluster, and its refusal if it will
// give no other answer: then somebody has to install an agent.
type asking struct {
	at      time.Time
	refused string
}

// child is a cluster that a service makes.
type child struct {
	service, project, namespace, name string

	// Clusters.mu guards these. looked is set while it is worked on, and why is the last
	// thing that it waited for.
	connected, looked bool
	why               string
	// uid is that of the Cluster object, once it was seen.
	uid types.UID
	// asked are the machines to replace.
	asked []*agentv1.MachineReplacement
	// next is when to look again.
	next time.Time

	// Only who looks at it uses these.
	inquiry asking
	backoff jitter.Backoff

	// Only the report uses these. replace is what was asked when it began, and reported what
	// the hub knows since reportedAt.
	replace    []*agentv1.MachineReplacement
	reported   *agentv1.ChildState
	reportedAt time.Time
}

// New returns no clusters.
func New(c Config) *Clusters {
	looks := c.Pools.Places(pool.Spec{Name: "made_clusters", Of: "clusters that are connected", Size: pool.SizeFor(atATime), Patient: true})
	return &Clusters{config: c, wake: make(chan struct{}, 1), looks: looks}
}

// Set replaces the services that make clusters by those among the specs.
func (c *Clusters) Set(specs []*agentv1.ServiceSpec) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := map[string]*child{}
	for _, one := range c.all {
		known[one.service] = one
	}
	c.all, c.makers = nil, map[string]string{}
	for _, spec := range specs {
		if spec.GetMakesCluster() == "" {
			continue
		}
		one := known[spec.GetId()]
		if one == nil || one.namespace != spec.GetNamespace() || one.name != spec.GetMakesCluster() {
			one = &child{
				service: spec.GetId(), namespace: spec.GetNamespace(), name: spec.GetMakesCluster(),
				backoff: jitter.Backoff{Min: lookEvery, Max: 5 * time.Minute},
			}
		}
		one.project, one.asked = spec.GetProject(), spec.GetReplaceMachines()
		c.all = append(c.all, one)
		c.makers[one.namespace] = one.service
	}
	c.changed.Store(true)
	slices.SortFunc(c.all, func(a, b *child) int { return strings.Compare(a.service, b.service) })
	c.poke()
}

// poke has the next pass run now.
func (c *Clusters) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Run works on the clusters until the context ends. Without one it waits for Set.
func (c *Clusters) Run(ctx context.Context) error {
	defer c.looking.Wait()
	for {
		var again <-chan time.Time
		if wait, more := c.pass(ctx); more {
			again = c.config.Clock.After(wait)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.wake:
		case <-again:
		}
	}
}

// pass begins to work on what is due, reports, and returns when to do so again, if ever.
func (c *Clusters) pass(ctx context.Context) (wait time.Duration, more bool) {
	c.mu.Lock()
	all := slices.Clone(c.all)
	for _, one := range all {
		if !one.connected && !one.looked && !c.config.Clock.Now().Before(one.next) {
			one.looked = true
			who, of := pool.Caller{Name: one.project}, one.uid
			c.looking.Go(func() { c.look(ctx, one, of, who) })
		}
	}
	c.mu.Unlock()
	if len(all) == 0 {
		return 0, false
	}
	now := c.config.Clock.Now()
	changed := c.changed.Swap(false)
	if changed {
		c.movingUntil = now.Add(settledEvery)
	}
	if changed || !now.Before(c.observeAt) {
		c.observeAt = now.Add(c.report(ctx, all))
	}
	next := c.observeAt
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range all {
		if !one.connected && !one.looked && one.next.Before(next) {
			next = one.next
		}
	}
	return max(0, next.Sub(c.config.Clock.Now())), true
}

// look brings one cluster nearer to being connected, once there is a place. of is the Cluster
// object that it begins with: another one since then is not connected by it.
func (c *Clusters) look(ctx context.Context, one *child, of types.UID, who pool.Caller) {
	place, err := c.looks.Wait(ctx, who)
	if err != nil {
		return // it ends
	}
	defer place.Leave()
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	connected, why, err := c.connect(ctx, one)
	wait := lookEvery
	switch {
	case err == nil && why != "" && why == one.inquiry.refused:
		wait = settledEvery
	case err != nil:
		why, wait = err.Error(), one.backoff.Next()
	default:
		one.backoff.Reset()
	}
	c.mu.Lock()
	before := one.why
	if of != "" && of != one.uid {
		connected, why, wait = false, "", 0
	}
	one.connected, one.looked, one.why, one.next = connected, false, why, c.config.Clock.Now().Add(wait)
	c.mu.Unlock()
	if connected {
		c.config.Log.Info("a cluster that was made here is connected", logkey.Service, one.service, logkey.Cluster, one.name)
	}
	if why != before && why != "" {
		c.config.Log.Info("a cluster that was made here is not connected yet", logkey.Service, one.service, logkey.Cluster, one.name, logkey.Reason, why)
	}
	if connected || why != before {
		c.changed.Store(true)
	}
	c.poke()
}
