package scale

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/axle-cd/axle/agent/hubclient"
	"github.com/axle-cd/axle/agent/tunnel"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// tunnels are those of a player's clusters: the agent's own end, with nobody
// to serve but watches. What they send and get is counted apart from the polls.
type tunnels struct {
	player *player
	meter  meter
	hints  atomic.Int64

	mu      sync.Mutex
	sites   map[int]*http.Transport
	all     []*tunnel.Tunnel
	watched map[string]*watched // by the cluster's name
}

// keep gives a cluster a tunnel and returns what its hints wake.
func (t *tunnels) keep(ctx context.Context, c *Cluster) <-chan struct{} {
	wake := make(chan struct{}, 1)
	transport, err := t.transport(c.number / SiteClusters)
	if err != nil {
		t.player.tell(played{What: "error", Text: c.Name + ": " + err.Error()})
		return wake
	}
	dialer := &tunnel.Dialer{
		URL: t.player.cfg.URL, Transport: transport, Authorization: c.client.Authorization,
		Seen: func() string { return c.client.Seen().String() },
	}
	one, err := tunnel.New(tunnel.Config{Dial: dialer.Dial, Version: "simulated", Streams: t.watch(c.Name), Proxy: "full", Hint: func(h *agentv1.TunnelHint) {
		t.hints.Add(1)
		c.client.Expect(hubclient.PositionOf(h.GetPosition()))
		select {
		case wake <- struct{}{}:
		default:
		}
	}})
	if err != nil {
		t.player.tell(played{What: "error", Text: c.Name + ": " + err.Error()})
		return wake
	}
	t.mu.Lock()
	t.all = append(t.all, one)
	t.mu.Unlock()
	t.player.group.Go(func() { _ = one.Run(ctx) })
	return wake
}

// watch returns what answers the hub's requests for a cluster; nil is nobody.
func (t *tunnels) watch(cluster string) tunnel.Handler {
	if !t.player.cfg.Watched {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.watched == nil {
		t.watched = map[string]*watched{}
	}
	t.watched[cluster] = &watched{}
	return t.watched[cluster]
}

// happen sends an event on a watch of a cluster.
func (t *tunnels) happen(cluster, namespace string) {
	t.mu.Lock()
	w := t.watched[cluster]
	t.mu.Unlock()
	if w != nil {
		w.happen(namespace)
	}
}

// transport is a site's, which dials from its address.
func (t *tunnels) transport(site int) (*http.Transport, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.sites[site]; one != nil {
		return one, nil
	}
	like, err := t.player.fleet.dialFrom(site, &t.meter)
	if err != nil {
		return nil, err
	}
	if t.sites == nil {
		t.sites = map[int]*http.Transport{}
	}
	t.sites[site] = tunnel.Transport(like)
	return t.sites[site], nil
}

// up counts those that the hub can use now.
func (t *tunnels) up() (n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.all {
		if one.Status().Up {
			n++
		}
	}
	return n
}
