package doctor

import (
	"context"
	"errors"

	"github.com/axle-cd/axle/agent"
	"github.com/axle-cd/axle/agent/hubclient"
	"github.com/axle-cd/axle/agent/tunnel"
	"github.com/axle-cd/axle/internal/errcode"
)

// withoutTunnel is the effect of a WebSocket that does not get through.
const withoutTunnel = "; until then changes arrive only with polls, and nobody can reach this cluster through the hub (use --tunnel off if that is intended)"

// checkTunnel checks whether a WebSocket gets through to the hub. It does not affect
// the tunnel of a running agent.
func checkTunnel(ctx context.Context, cfg agent.Config) Check {
	c := Check{Name: "tunnel"}
	if cfg.Tunnel == agent.TunnelOff {
		c.Detail = "off by --tunnel: changes arrive only with polls, and nobody can reach this cluster through the hub"
		return c
	}
	ca, err := cfg.CAPEM()
	if cfg.HubURL == "" || err != nil {
		return c.hubIsAway()
	}
	like, err := hubclient.NewTransport(ca)
	if err != nil {
		return c.hubIsAway()
	}
	defer like.CloseIdleConnections()
	transport := tunnel.Transport(like)
	defer transport.CloseIdleConnections()
	err = tunnel.Probe(ctx, transport, cfg.HubURL)
	who := "the proxy or ingress on the way"
	if proxy := proxyFor(cfg.HubURL); proxy != nil {
		who = "the proxy " + proxy.Host + ", or what stands before the hub,"
	}
	switch {
	case err == nil:
		c.Detail = "a WebSocket gets through to " + cfg.HubURL
	case errors.Is(err, tunnel.ErrOldHub):
		c.Detail = err.Error() + "; `axle clusters get NAME` shows the tunnel of a running agent"
	case errcode.Is(err, errcode.Invalid):
		return c.fails(errcode.Text(err), "let "+who+" pass the headers Connection: Upgrade and Upgrade: websocket on, over HTTP/1.1"+withoutTunnel)
	case errcode.Is(err, errcode.Exhausted):
		return c.fails(errcode.Text(err), "look again in a few seconds")
	case errcode.Is(err, errcode.Unavailable) && checkHub(ctx, cfg).Problem != "":
		return c.hubIsAway()
	default:
		return c.fails(errcode.Text(err), "let "+who+" forward WebSockets without buffering, and allow "+tunnel.Path+" there"+withoutTunnel)
	}
	return c
}

// hubIsAway leaves the explanation to the hub's own check.
func (c Check) hubIsAway() Check {
	c.Detail, c.Skipped = "skipped, because the hub is not reached", true
	return c
}
