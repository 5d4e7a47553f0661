package clusterapi

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// lookEvery is how often a cluster that is not connected yet is looked at.
	lookEvery = 5 * time.Second
	// atATime is how many clusters are worked on together: one that does not answer must
	// not hold up the others.
	atATime = 8
	// stepLimit bounds the work on one cluster in one pass.
	stepLimit = 2 * time.Minute
)

// Hub is asked for what connects a cluster, and gets the states of all.
type Hub interface {
	EnrollChild(ctx context.Context, r *agentv1.EnrollChildRequest) (*agentv1.Child, error)
	ReportChildren(ctx context.Context, r *agentv1.ReportChildrenRequest) error
}

// Config is what Clusters needs. All fields are required.
type Config struct {
	Hub Hub
	// Client and Dynamic reach this cluster.
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	BootID  string
	Clock   clock.Clock
	Log     *slog.Logger
}

// Clusters are those that services of this cluster make. Its methods are safe for
// concurrent use.
type Clusters struct {
	config Config
	wake   chan struct{}
	// observeAt is when to read Cluster API's objects again; changed is set when there is
	// something to report before.
	observeAt time.Time
	changed   atomic.Bool

	mu  sync.Mutex
	all []*child // in order of service
	// makers are the services by their namespaces.
	makers map[string]string
}

// child is a cluster that a service makes. Only the pass works on what is below the line.
type child struct {
	service, namespace, name string

	connected bool
	// uid is that of the Cluster object, once it was seen.
	uid types.UID
	// why is the last thing that it waited for.
	why string
	// next is when to look again, askedAt when the hub was last asked.
	next, askedAt time.Time
	backoff       jitter.Backoff
	// reported is what the hub knows since reportedAt.
	reported   *agentv1.ChildState
	reportedAt time.Time
}

// New returns no clusters.
func New(c Config) *Clusters { return &Clusters{config: c, wake: make(chan struct{}, 1)} }

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
		c.all = append(c.all, one)
		c.makers[one.namespace] = one.service
	}
	c.changed.Store(true)
	slices.SortFunc(c.all, func(a, b *child) int { return strings.Compare(a.service, b.service) })
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Run works on the clusters until the context ends. Without one it waits for Set.
func (c *Clusters) Run(ctx context.Context) error {
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

// pass works on what is due, and returns when to do so again, if ever.
func (c *Clusters) pass(ctx context.Context) (wait time.Duration, more bool) {
	c.mu.Lock()
	all := slices.Clone(c.all)
	c.mu.Unlock()
	var group errgroup.Group
	group.SetLimit(atATime)
	for _, one := range all {
		if one.connected || c.config.Clock.Now().Before(one.next) {
			continue
		}
		group.Go(func() error {
			c.look(ctx, one)
			return nil
		})
	}
	_ = group.Wait() // none returns an error
	if len(all) == 0 {
		return 0, false
	}
	if now := c.config.Clock.Now(); !now.Before(c.observeAt) || c.changed.Swap(false) {
		c.observeAt = now.Add(c.report(ctx, all))
	}
	next := c.observeAt
	for _, one := range all {
		if !one.connected && one.next.Before(next) {
			next = one.next
		}
	}
	return max(0, next.Sub(c.config.Clock.Now())), true
}

// look brings one cluster nearer to being connected.
func (c *Clusters) look(ctx context.Context, one *child) {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	connected, why, err := c.connect(ctx, one)
	wait := lookEvery
	switch {
	case errcode.Is(err, errcode.Conflict):
		why, wait = err.Error(), patience // the hub will say nothing else
	case err != nil:
		why, wait = err.Error(), one.backoff.Next()
	default:
		one.backoff.Reset()
	}
	if one.connected = connected; connected {
		c.config.Log.Info("a cluster that was made here is connected", logkey.Service, one.service, logkey.Cluster, one.name)
	}
	if why != one.why && why != "" {
		c.config.Log.Info("a cluster that was made here is not connected yet", logkey.Service, one.service, logkey.Cluster, one.name, logkey.Reason, why)
	}
	if connected || why != one.why {
		c.changed.Store(true)
	}
	one.why, one.next = why, c.config.Clock.Now().Add(wait)
}
