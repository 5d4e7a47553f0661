package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/world"
)

const (
	proxyCluster = "edge"
	proxyWait    = 2 * time.Minute
	// proxyPath is where the stand-in of a pod serves bodies.
	proxyPath = "/api/v1/namespaces/default/pods/bodies:%s/proxy/%d"
)

// Config says what Measure measures.
type Config struct {
	// Requests of each kind are timed; zero is 500.
	Requests int
	// Watches are open at once; zero is 400, of the 450 streams of a cluster.
	Watches int
	// Agents are idle at once, and come back after the hub was killed; zero is
	// none.
	Agents int
	// WatchesOver is the number of clusters that have 200 watches each at once;
	// zero is none.
	WatchesOver int
	// Window is how long what is idle is watched; zero is a minute.
	Window time.Duration
	// Player is the command that runs scale.Play, for Agents and WatchesOver.
	Player []string
	// Peer is the program of test/peers/tunnel; empty is none.
	Peer     string
	Progress func(format string, args ...any)
}

// Result is what using a cluster through the hub costs. CPU is the hub's and
// the agent's together, TLS of the client and of the tunnel included.
type Result struct {
	Carried
	ExecRTT           float64 `json:"exec_rtt_ms"`
	ExecCPU           float64 `json:"exec_cpu_ms"`
	ExecCPULeast      float64 `json:"exec_cpu_ms_least"`
	ExecCPUMost       float64 `json:"exec_cpu_ms_most"`
	RSSPerWatch       float64 `json:"rss_kb_per_idle_watch"`
	FastBesideStalled float64 `json:"fast_beside_50_stalled_ms"`
	IdleAgents
	Peers map[string]*Carried `json:"peers"`
	// Many is nil when it was not asked for.
	Many *ManyWatches `json:"many_watches,omitempty"`
}

// proxyBench is one run.
type proxyBench struct {
	Config
	w            *world.World
	agent        *world.Agent
	agentMetrics string
	over         *rest.Config
	way
	direct *http.Client
	port   string
	result Result
}

// Measure starts a hub, an agent and an API server as processes and uses the one
// through the others; then the peers, and a hub with many agents.
func Measure(ctx context.Context, c Config) (Result, error) {
	b := newProxyBench(c)
	if err := b.beside(ctx); err != nil {
		return b.result, err
	}
	err := b.fleet(ctx)
	return b.result, err
}

func newProxyBench(c Config) *proxyBench {
	c.Requests = cmp.Or(c.Requests, 500)
	c.Watches = cmp.Or(c.Watches, 400)
	c.Window = cmp.Or(c.Window, time.Minute)
	if c.Progress == nil {
		c.Progress = func(string, ...any) {}
	}
	b := &proxyBench{Config: c}
	b.result.Peers = map[string]*Carried{}
	return b
}

// beside measures what needs an API server.
func (b *proxyBench) beside(ctx context.Context) (err error) {
	if b.w, err = world.Start(ctx, world.Config{Clusters: []string{proxyCluster}, Pods: true, TLS: true}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.w.Close()) }()
	if err := b.connect(ctx); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"GETs and bodies", b.carry}, {"commands", b.execs}, {"watches", b.watches}, {"stalled clients", b.stalled}, {"peers", b.peers},
	} {
		b.Progress("%s", step.name)
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// carry measures our own way.
func (b *proxyBench) carry(ctx context.Context) (err error) {
	b.result.Carried, err = b.carried(ctx, &b.way)
	return err
}

// connect brings up the agent, and a client through the hub.
func (b *proxyBench) connect(ctx context.Context) (err error) {
	if err := b.w.Login(ctx); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	b.agentMetrics = listener.Addr().String()
	if err := listener.Close(); err != nil {
		return err
	}
	if b.agent, err = b.w.ConnectProcess(ctx, proxyCluster, world.AgentOptions{Flags: []string{"--poll-interval", "2m", "--metrics-listen", b.agentMetrics}}); err != nil {
		return err
	}
	var text []byte
	err = eventually.Wait(ctx, proxyWait, func() error {
		made, err := b.w.Axle(ctx, "clusters", "kubeconfig", proxyCluster)
		if err != nil {
			return err
		}
		text = []byte(made.Out)
		if b.over, err = clientcmd.RESTConfigFromKubeConfig(text); err != nil {
			return err
		}
		b.over.QPS = -1
		if b.client, err = rest.HTTPClientFor(b.over); err != nil {
			return err
		}
		b.host = b.over.Host
		return b.ask(ctx, "/version")
	})
	if err != nil {
		return err
	}
	if b.direct, err = rest.HTTPClientFor(b.w.Cluster(proxyCluster).Config()); err != nil {
		return err
	}
	b.pids, b.allocated = []int{b.w.Hub.Pid(), b.agent.Pid()}, b.allocatedByBoth
	return b.serveBodies(ctx)
}
