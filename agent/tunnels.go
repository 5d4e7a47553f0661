package agent

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/agent/clusterapi"
	"github.com/axle-cd/axle/agent/hubclient"
	"github.com/axle-cd/axle/agent/observe"
	"github.com/axle-cd/axle/agent/poll"
	"github.com/axle-cd/axle/agent/readiness"
	"github.com/axle-cd/axle/agent/tunnel"
	"github.com/axle-cd/axle/agent/tunnel/authproxy"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
)

// The values of Config.Tunnel.
const (
	// TunnelOn keeps a connection to the hub, on which the hub sends requests.
	TunnelOn = "on"
	// TunnelOff keeps none: changes arrive only with polls.
	TunnelOff = "off"
)

// sayOffEvery is how often to tell the hub that there is no tunnel, so that a
// restarted hub knows; it keeps that only in memory.
const sayOffEvery = 10 * time.Minute

// tunnels is the tunnel and what dials it.
type tunnels struct {
	*tunnel.Tunnel
	dialer  *tunnel.Dialer
	session *session
	off     bool
	clock   clock.Clock
}

// newTunnel makes the tunnel of one identity; it contacts nothing.
func (a *Agent) newTunnel(s *session, loop *poll.Loop, owned readiness.Inventory, made *clusterapi.Clusters, registry prometheus.Registerer) (*tunnels, error) {
	t := &tunnels{session: s, off: a.cfg.Tunnel == TunnelOff, clock: a.cfg.Clock}
	s.asked = make(chan struct{}, 1)
	t.dialer = &tunnel.Dialer{
		URL: a.cfg.HubURL, Transport: tunnel.Transport(a.transport), Authorization: s.client.Authorization,
		Seen: func() string { return s.client.Seen().String() }, Off: t.off,
	}
	proxy, err := authproxy.New(authproxy.Config{Rest: a.kube.REST, Policy: a.cfg.Proxy, Guard: made, Log: a.cfg.Log})
	if err != nil {
		return nil, err
	}
	t.Tunnel, err = tunnel.New(tunnel.Config{
		Streams: streams{proxy, readiness.New(a.kube.REST, owned, a.pools), made, observe.New(a.kube.REST, a.pools)}, Proxy: cmp.Or(a.cfg.Proxy.Mode, authproxy.Full),
		Dial: s.dial(t.dialer), Version: buildinfo.Version, Clock: a.cfg.Clock, Log: a.cfg.Log,
		Hint: func(h *agentv1.TunnelHint) { a.hinted(s, loop, h) },
	})
	if err != nil {
		return nil, err
	}
	registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "axle_agent_tunnel_up", Help: "1 while the hub can send requests through the tunnel."}, func() float64 {
			if t.Status().Up {
				return 1
			}
			return 0
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "axle_agent_tunnel_dials_total", Help: "Times the hub was dialled for a tunnel."}, func() float64 { return float64(t.Status().Dials) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "axle_agent_tunnel_streams_total", Help: "Requests received through the tunnel."}, func() float64 { return float64(t.Status().Streams) }))
	return t, nil
}

// streams serves the hub's requests: those for the API server, and those for the agent.
type streams struct {
	*authproxy.Proxy
	checker  *readiness.Checker
	made     *clusterapi.Clusters
	observer *observe.Observer
}

// ServeStream implements tunnel.Handler.
func (s streams) ServeStream(ctx context.Context, stream *tunnel.Stream) {
	question, credential := stream.Head().GetReadiness(), stream.Head().GetCredential()
	switch {
	case credential != nil:
		s.Answer(ctx, stream, func(ctx context.Context, caller authproxy.Caller) (proto.Message, error) {
			return s.made.Kubeconfig(ctx, caller, credential.GetServiceId())
		})
		return
	case stream.Head().GetObserve() != nil:
		s.observe(ctx, stream, stream.Head().GetObserve())
		return
	case question == nil:
		s.Proxy.ServeStream(ctx, stream)
		return
	}
	s.Answer(ctx, stream, func(ctx context.Context, caller authproxy.Caller) (proto.Message, error) {
		return s.checker.Report(ctx, readiness.Viewer{User: caller.User, Groups: caller.Groups, Allowed: caller.Allowed}, question.GetTo())
	})
}

// observe answers a question about metrics, logs and alerts.
func (s streams) observe(ctx context.Context, stream *tunnel.Stream, q *agentv1.ObserveQuestion) {
	viewer := func(c authproxy.Caller) observe.Viewer {
		return observe.Viewer{User: c.User, Groups: c.Groups, Allowed: c.Allowed}
	}
	if request := q.GetRequest(); request != nil {
		s.Pass(ctx, stream, func(ctx context.Context, c authproxy.Caller) (*http.Response, error) {
			return s.observer.Get(ctx, viewer(c), request)
		})
		return
	}
	s.Answer(ctx, stream, func(ctx context.Context, c authproxy.Caller) (proto.Message, error) {
		switch {
		case q.GetNamespaces() != nil:
			return s.observer.Namespaces(ctx, viewer(c))
		case q.GetServices() != nil:
			return s.observer.Services(ctx)
		}
		return nil, errcode.New(errcode.Unprocessable, "this agent does not know the question about metrics and logs; upgrade it")
	})
}

// run keeps the tunnel, or regularly tells the hub that there is none.
func (t *tunnels) run(ctx context.Context) error {
	if !t.off {
		return t.Run(ctx)
	}
	for {
		// The hub only displays it, so a failure can wait for the next time.
		_, _ = t.session.dial(t.dialer)(ctx)
		select {
		case <-t.clock.After(jitter.Around(sayOffEvery, sayOffEvery/5)):
		case <-ctx.Done():
			return nil
		}
	}
}

// shown is the tunnel's state for people: Up, Down or Off.
func (t *tunnels) shown() (state string, since time.Time, err error) {
	s := t.Status()
	switch {
	case t.off:
		return "Off", s.Since, nil
	case s.Up:
		return "Up", s.Since, nil
	}
	return "Down", s.Since, s.Err
}

// dial dials, and retries once with a new token if the hub does not accept the
// present one.
func (s *session) dial(d *tunnel.Dialer) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		conn, err := d.Dial(ctx)
		if !errcode.Is(err, errcode.Unauthorized) || s.frozen {
			return conn, err
		}
		if renewal := s.renew(ctx, true); renewal != nil {
			return nil, errors.Join(err, renewal)
		}
		return d.Dial(ctx)
	}
}

// hinted polls at once, for a position in the feed not before the hint's.
func (a *Agent) hinted(s *session, loop *poll.Loop, h *agentv1.TunnelHint) {
	s.client.Expect(hubclient.PositionOf(h.GetPosition()))
	if h.GetReason() == "token" {
		select {
		case s.asked <- struct{}{}:
		default:
		}
	}
	loop.Poke()
}
