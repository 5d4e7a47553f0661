package scale

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/axle-cd/axle/agent/hubclient"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/jitter"
)

const (
	// SiteClusters is the number of clusters that share an address and,
	// unless each has its own, connections.
	SiteClusters = 150
	// siteConnections bounds what the clusters of a site have open.
	siteConnections = 4
	// joiners and pollers bound what goes on at once; more only queue at the
	// hub.
	joiners = 128
	pollers = 128
)

// Config says how a fleet behaves. URL is needed.
type Config struct {
	// URL is the hub's, and CAPEM the authority to trust instead of the
	// system's.
	URL   string
	CAPEM []byte
	// OwnConnections gives each cluster a connection of its own, as in life;
	// else the clusters of a site share a few.
	OwnConnections bool
	// ShareTarballs downloads each content once for the whole fleet, not once
	// for each cluster.
	ShareTarballs bool
	// Addresses are where the hub's replicas listen; each connection goes to one
	// that accepts it, as through a load balancer. Empty is URL's own.
	Addresses []string
	// First is the number of the first cluster that joins, when another process
	// plays those before: it decides the site.
	First int
	// InMemory verifies each cluster's every tarball without writing files, and
	// decodes each content once.
	InMemory bool
	// Interval is the time between polls, up to half of it added at random;
	// zero is 10 s.
	Interval time.Duration
	// Act is what clusters make of their services; nil is Healthy.
	Act func(Seen) *agentv1.ServiceStatus
	// Took is told of each content that replaced another; nil is nobody.
	Took func(digest string)
	// Dir takes what is unpacked; empty is the system's temporary folder.
	Dir string
	Log *slog.Logger
}

// Stats count what a fleet did since it began.
type Stats struct {
	Polls, Unchanged, Failed           int64
	Specs, Tarballs, TarballBytes      int64
	Reports, ReportedServices, Resyncs int64
	// Mismatches are tarballs whose digest was another one.
	Mismatches int64
}

type counters struct {
	polls, unchanged, failed           atomic.Int64
	specs, tarballs, tarballBytes      atomic.Int64
	reports, reportedServices, resyncs atomic.Int64
	mismatches                         atomic.Int64
}

// Fleet is a number of simulated clusters.
type Fleet struct {
	cfg      Config
	contents *contents
	count    counters
	roots    *x509.CertPool // nil is the system's
	dialled  atomic.Uint64

	mu       sync.Mutex
	clusters []*Cluster
	sites    []*http.Transport
	joined   chan struct{} // closed when a cluster joins, and replaced
}

// New returns a Fleet without clusters.
func New(cfg Config) *Fleet {
	if cfg.Interval <= 0 {
		cfg.Interval = 10 * time.Second
	}
	if cfg.Act == nil {
		cfg.Act = Healthy
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	f := &Fleet{cfg: cfg, joined: make(chan struct{})}
	if len(cfg.CAPEM) > 0 {
		f.roots = x509.NewCertPool()
		f.roots.AppendCertsFromPEM(cfg.CAPEM)
	}
	f.contents = newContents(cfg, &f.count)
	return f
}

// Stats returns what was done so far.
func (f *Fleet) Stats() Stats {
	c := &f.count
	return Stats{
		c.polls.Load(), c.unchanged.Load(), c.failed.Load(),
		c.specs.Load(), c.tarballs.Load(), c.tarballBytes.Load(),
		c.reports.Load(), c.reportedServices.Load(), c.resyncs.Load(),
		c.mismatches.Load(),
	}
}

// Clusters returns those that joined.
func (f *Fleet) Clusters() []*Cluster {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*Cluster(nil), f.clusters...)
}

// transport returns a cluster's: its own, or its site's.
func (f *Fleet) transport(n int, m *meter) (*http.Transport, error) {
	site := n / SiteClusters
	if f.cfg.OwnConnections {
		return f.dialFrom(site, m)
	}
	for len(f.sites) <= site {
		t, err := f.dialFrom(len(f.sites), nil)
		if err != nil {
			return nil, err
		}
		t.MaxIdleConns, t.MaxIdleConnsPerHost, t.MaxConnsPerHost = siteConnections, siteConnections, siteConnections
		f.sites = append(f.sites, t)
	}
	return f.sites[site], nil
}

// dialFrom makes a transport that dials from a site's loopback address.
func (f *Fleet) dialFrom(site int, m *meter) (*http.Transport, error) {
	t, err := hubclient.NewTransport(nil)
	if err != nil {
		return nil, err
	}
	t.Proxy = nil
	// One pool for all: a copy of the system's for each cluster is large.
	t.TLSClientConfig.RootCAs = f.roots
	dialer := &net.Dialer{Timeout: 10 * time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(site>>8), byte(site))}}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := f.dial(ctx, dialer, network, address)
		if err == nil && m != nil {
			m.dials.Add(1)
			return &metered{c, m}, nil
		}
		return c, err
	}
	return t, nil
}

// dial connects to a replica, the next when one refuses.
func (f *Fleet) dial(ctx context.Context, dialer *net.Dialer, network, address string) (net.Conn, error) {
	if len(f.cfg.Addresses) == 0 {
		return dialer.DialContext(ctx, network, address)
	}
	first := f.dialled.Add(1)
	var errs []error
	for i := range f.cfg.Addresses {
		address = f.cfg.Addresses[(int(first)+i)%len(f.cfg.Addresses)]
		c, err := dialer.DialContext(ctx, network, address)
		if err == nil {
			return c, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// Join registers a cluster and lets it poll from now on when the fleet runs.
func (f *Fleet) Join(ctx context.Context, m Member) (*Cluster, error) {
	f.mu.Lock()
	c := newCluster(f, m, f.cfg.First+len(f.clusters))
	transport, err := f.transport(f.cfg.First+len(f.clusters), &c.meter)
	if err != nil {
		f.mu.Unlock()
		return nil, err
	}
	f.clusters = append(f.clusters, c)
	f.mu.Unlock()
	if err := c.register(ctx, transport); err != nil {
		return nil, fmt.Errorf("cluster %s registers: %w", m.Name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.joined)
	f.joined = make(chan struct{})
	return c, nil
}

// JoinAll registers many, a few at a time, and tells how many have.
func (f *Fleet) JoinAll(ctx context.Context, members []Member, progress func(done int)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(joiners)
	var done atomic.Int64
	for _, m := range members {
		group.Go(func() error {
			_, err := f.Join(ctx, m)
			if err == nil && progress != nil {
				progress(int(done.Add(1)))
			}
			return err
		})
	}
	return group.Wait()
}

// PassAll lets each cluster poll once, a few at a time. It returns the first
// error.
func (f *Fleet) PassAll(ctx context.Context, progress func(done int)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(pollers)
	var done atomic.Int64
	for _, c := range f.Clusters() {
		group.Go(func() error {
			_, err := c.Pass(ctx)
			if err == nil && progress != nil {
				progress(int(done.Add(1)))
			}
			return err
		})
	}
	return group.Wait()
}

// Run lets the clusters poll, each at its interval, until the context ends.
// What fails is logged and tried again at the next poll. Clusters that join
// later poll too.
func (f *Fleet) Run(ctx context.Context) error {
	slots := make(chan struct{}, pollers)
	var group sync.WaitGroup
	defer group.Wait()
	started := 0
	for {
		f.mu.Lock()
		fresh, joined := f.clusters[started:], f.joined
		started = len(f.clusters)
		f.mu.Unlock()
		for _, c := range fresh {
			group.Go(func() { f.follow(ctx, c, slots) })
		}
		select {
		case <-joined:
		case <-ctx.Done():
			return nil
		}
	}
}

// follow is one cluster's life.
func (f *Fleet) follow(ctx context.Context, c *Cluster, slots chan struct{}) {
	interval := c.interval()
	for wait := jitter.Full(interval); jitter.Wait(ctx, wait) == nil; wait = jitter.Add(interval, interval/2) {
		if !c.registered.Load() || c.silent.Load() {
			continue
		}
		slots <- struct{}{}
		if _, err := c.Pass(ctx); err != nil && ctx.Err() == nil {
			f.cfg.Log.Debug("a simulated cluster holds what it has", "cluster", c.Name, "err", err)
		}
		<-slots
	}
}
