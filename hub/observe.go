package hub

import (
	"context"
	"maps"
	"slices"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/observe"
	"github.com/axle-cd/axle/hub/tunnel"
	"github.com/axle-cd/axle/hub/tunnel/authproxy"
	"github.com/axle-cd/axle/internal/telemetry"
)

// newObserver creates what reads the metrics, logs and alerts of clusters. By URL it follows
// the same address rules as sources.
func newObserver(h *Hub) (*observe.Observer, error) {
	var links []observe.LinkSettings
	for _, head := range slices.Sorted(maps.Keys(h.config.Links)) {
		link, err := observe.ParseLink(head + "=" + h.config.Links[head])
		if err != nil {
			return nil, err
		}
		links = append(links, link)
	}
	return observe.New(observe.Config{
		Links: links,
		Store: h.store, Agents: observedAgents{h}, Sealer: h.store.Sealer(), ProjectOf: h.projectOfCluster,
		Transport: h.config.outward, AllowHTTP: h.config.AllowHTTPUpstreams, Pools: h.pools, Clock: h.config.Clock, Log: h.log,
	})
}

// projectOfCluster is the project of a cluster, on which a transaction depends.
func (h *Hub) projectOfCluster(ctx context.Context, clusterID string) (string, error) {
	c, err := h.fleet.ClusterByID(ctx, clusterID)
	if err != nil {
		return "", err
	}
	return c.ProjectID, event.DependsOn(ctx, event.Change{Kind: event.KindCluster, Key: c.ID})
}

// observedAgents asks agents through the auth proxy, which authorizes and records.
// The proxy and the tunnels are made after it.
type observedAgents struct{ hub *Hub }

var _ observe.Agents = observedAgents{}

func (a observedAgents) pages() *authproxy.Pages { return authproxy.NewPages(a.hub.proxy) }

// Up implements observe.Agents.
func (a observedAgents) Up(clusterID string) bool {
	state, _ := a.hub.tunnels.State(clusterID)
	return state == tunnel.Up
}

func observing(by observe.Caller, c observe.Cluster) authproxy.Asking {
	return authproxy.Asking{Caller: by.Principal, Source: by.Source, Handle: c.Handle}
}

// Services implements observe.Agents.
func (a observedAgents) Services(ctx context.Context, by observe.Caller, c observe.Cluster) ([]telemetry.Service, error) {
	return a.pages().ObservedServices(ctx, observing(by, c))
}

// Namespaces implements observe.Agents.
func (a observedAgents) Namespaces(ctx context.Context, by observe.Caller, c observe.Cluster) (out observe.Namespaces, err error) {
	out.All, out.Names, out.LeftOut, err = a.pages().ObservedNamespaces(ctx, observing(by, c))
	return out, err
}

// While implements observe.Agents.
func (a observedAgents) While(ctx context.Context, by observe.Caller, c observe.Cluster) (context.Context, func(), error) {
	return a.pages().WhileObserving(ctx, observing(by, c))
}

// Get implements observe.Agents.
func (a observedAgents) Get(ctx context.Context, by observe.Caller, c observe.Cluster, s telemetry.Service, path, rawQuery, tenant string) (*observe.Answer, error) {
	o, err := a.pages().Observe(ctx, observing(by, c), s, path, rawQuery, tenant)
	if err != nil {
		return nil, err
	}
	return &observe.Answer{Status: o.Status, ContentType: o.ContentType, Location: o.Location, Body: o}, nil
}
