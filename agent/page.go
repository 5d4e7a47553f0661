package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// page serves /healthz and /metrics. /healthz answers 200 as long as the agent works,
// also while it waits for the hub or the API server: a restart would fix neither. The
// body says what it waits for.
type page struct {
	agent *Agent

	mu       sync.Mutex
	cluster  string
	addr     string
	problems map[string]string
}

func newPage(a *Agent) *page { return &page{agent: a, problems: map[string]string{}} }

// say sets or clears what a part waits for.
func (p *page) say(part string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		delete(p.problems, part)
		return
	}
	p.problems[part] = errcode.Message(err)
}

func (p *page) named(cluster string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cluster = cluster
}

func (p *page) address() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.addr
}

// listen opens the address. If no address was given and the default port is taken, it
// uses any port. It returns nil if nothing should listen.
func (p *page) listen(ctx context.Context, address string) (net.Listener, error) {
	if address == "off" {
		return nil, nil
	}
	var conf net.ListenConfig
	l, err := conf.Listen(ctx, "tcp", cmp.Or(address, DefaultMetricsListen))
	if err != nil && address == "" {
		l, err = conf.Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "--metrics-listen: %w", err)
	}
	p.mu.Lock()
	p.addr = l.Addr().String()
	p.mu.Unlock()
	return l, nil
}

func (p *page) run(ctx context.Context, l net.Listener) error {
	if l == nil {
		return nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", p.health)
	mux.HandleFunc("GET /metrics", p.metrics)
	profiles(mux, l.Addr())
	restRoute(mux, p.agent)
	return serve(ctx, l, mux)
}

// serve serves on l until the context ends.
func serve(ctx context.Context, l net.Listener, mux *http.ServeMux) error {
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// metrics serves the metrics of the process and of the present work.
func (p *page) metrics(w http.ResponseWriter, r *http.Request) {
	all := prometheus.Gatherers{p.agent.registry}
	if now := p.agent.measured.Load(); now != nil {
		all = append(all, now)
	}
	promhttp.HandlerFor(all, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

// healthAnswer is the body of /healthz.
type healthAnswer struct {
	Version  string     `json:"version"`
	Cluster  string     `json:"cluster,omitempty"`
	Services int        `json:"services"`
	PolledAt *time.Time `json:"polledAt,omitempty"`
	// Tunnel is Up, Down or Off, since TunnelSince.
	Tunnel      string            `json:"tunnel,omitempty"`
	TunnelSince *time.Time        `json:"tunnelSince,omitempty"`
	Problems    map[string]string `json:"problems,omitempty"`
}

func (p *page) health(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	answer := healthAnswer{Version: buildinfo.Version, Cluster: p.cluster, Problems: map[string]string{}}
	for part, problem := range p.problems {
		answer.Problems[part] = problem
	}
	p.mu.Unlock()
	if loop := p.agent.loop.Load(); loop != nil {
		state := loop.State()
		answer.Services = state.Services
		if !state.PolledAt.IsZero() {
			answer.PolledAt = &state.PolledAt
		}
		if state.Err != nil {
			answer.Problems["hub"] = errcode.Message(state.Err)
		}
		if !state.Loaded {
			answer.Problems["cluster"] = "the API server has not been read yet"
		}
		if state.Duplicate {
			answer.Problems["identity"] = "another agent uses this cluster's identity"
		}
	}
	if t := p.agent.tunnel.Load(); t != nil {
		state, since, err := t.shown()
		answer.Tunnel, answer.TunnelSince = state, &since
		if err != nil {
			answer.Problems["tunnel"] = errcode.Message(err)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		p.agent.cfg.Log.Debug("cannot write the health page", logkey.Error, err)
	}
}
