package scale

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/axle-cd/axle/agent/hubclient"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// Member says who joins.
type Member struct {
	// Name is wanted; a token fixed to a cluster decides.
	Name string
	// Token is a bootstrap token.
	Token string
	Tags  map[string]string
	// Interval is this cluster's own between polls; zero is the fleet's.
	Interval time.Duration
	// Kubernetes, Distro and Nodes are what it says of itself.
	Kubernetes, Distro string
	Nodes              int32
}

// Cluster is one simulated cluster. Pass may be called by one at a time; it
// waits for another.
type Cluster struct {
	Member
	fleet      *Fleet
	number     int
	bootID     string
	uid        string
	client     *hubclient.Client
	transport  *http.Transport
	meter      meter
	reports    atomic.Int64
	registered atomic.Bool
	silent     atomic.Bool

	mu       sync.Mutex
	etag     string
	whole    bool // the next report is all there is
	wholeAt  time.Time
	odd      int // polls running whose status hash was another one
	sequence int64
	services map[string]*service
}

// service is what a cluster knows of one of its services.
type service struct {
	want    *agentv1.DesiredService
	spec    *agentv1.ServiceSpec
	content *Content
	applied time.Time
	// refreshAt is when its content is downloaded again.
	refreshAt time.Time
	listed    bool
	stored    string // hash that the hub has
	reported  []byte
}

func newCluster(f *Fleet, m Member, n int) *Cluster {
	if m.Kubernetes == "" {
		m.Kubernetes = "v1.36.3"
	}
	if m.Distro == "" {
		m.Distro = []string{"k3s", "eks", "gke", "rke2"}[n%4]
	}
	if m.Nodes == 0 {
		m.Nodes = int32(1 + n%9)
	}
	return &Cluster{Member: m, fleet: f, number: n, bootID: random(), uid: random(), services: map[string]*service{}, whole: true}
}

func random() string {
	b := make([]byte, 16)
	rand.Read(b)
	return hex.EncodeToString(b)
}

func (c *Cluster) interval() time.Duration {
	if c.Interval > 0 {
		return c.Interval
	}
	return c.fleet.cfg.Interval
}

// register trades the bootstrap token for an identity and says what cluster
// this is.
func (c *Cluster) register(ctx context.Context, transport *http.Transport) (err error) {
	c.transport = transport
	if c.client, err = hubclient.New(hubclient.Config{URL: c.fleet.cfg.URL, Transport: transport}); err != nil {
		return err
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	answer, err := c.client.Register(ctx, c.Token, key, &agentv1.RegisterRequest{
		ClusterUid: c.uid, Name: c.Name, Tags: c.Tags, BootId: c.bootID, AgentVersion: "simulated", ProtocolVersion: 1,
	})
	if err != nil {
		return err
	}
	c.Name = answer.GetClusterName()
	err = c.client.Ping(ctx, &agentv1.PingRequest{
		BootId: c.bootID, AgentVersion: "simulated", ProtocolVersion: 1, KubernetesVersion: c.Kubernetes, Distro: c.Distro,
		Nodes: c.Nodes, PollIntervalMicros: c.interval().Microseconds(),
	})
	c.registered.Store(err == nil)
	return err
}

// Silence ends the polls of Run, as a cluster that lost its network.
func (c *Cluster) Silence() { c.silent.Store(true) }

// Silent says whether Silence was called.
func (c *Cluster) Silent() bool { return c.silent.Load() }

// Empty returns the names of the listed services that have no content.
func (c *Cluster) Empty() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.services {
		if s.listed && s.content == nil && !s.want.GetPaused() {
			names = append(names, s.want.GetName())
		}
	}
	slices.Sort(names)
	return names
}
