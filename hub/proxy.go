package hub

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/axle-cd/axle/hub/console/liveapi"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/index"
	"github.com/axle-cd/axle/hub/tunnel/authproxy"
)

// newProxy creates the auth proxy for clusters' API servers.
func (h *Hub) newProxy() (*authproxy.Proxy, error) {
	return authproxy.New(authproxy.Config{
		Open: authproxy.Over(h.tunnels), Identity: h.callers.Identity, Cluster: h.clusterByHandle, Now: h.clusterNow, Audit: h.audit, Sealer: h.store.Sealer(), UseNonce: h.useNonce,
		Origin: h.config.K8sOrigin, FailOpen: h.config.ExecUnaudited, Pools: h.pools, Clock: h.config.Clock, Log: h.log,
	})
}

// clustersOrigin prevents a host that serves clusters' APIs from serving
// anything else but the probes: its pages would otherwise have the hub's origin.
func (h *Hub) clustersOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.proxy.OwnHost(r) && r.URL.Path != "/healthz" && r.URL.Path != "/readyz" {
			h.proxy.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (h *Hub) clusterByHandle(ctx context.Context, handle string) (authproxy.Cluster, error) {
	c, err := h.fleet.ClusterByHandle(ctx, handle)
	return proxied(h.index, c), err
}

// clusterNow finds a cluster as the feed has last told of it. It asks for the index when it
// is called: the proxy is made before it.
func (h *Hub) clusterNow(id string) (authproxy.Cluster, bool) {
	c, known := h.index.Cluster(id)
	return proxied(h.index, c), known
}

func proxied(x *index.Index, c fleet.Cluster) authproxy.Cluster {
	namespaces, anything := x.Limits(c.ProjectID)
	return authproxy.Cluster{ID: c.ID, Name: c.Name, Handle: c.Handle, Project: c.ProjectID, LimitsNamespaces: namespaces, Limited: anything, Unmade: unmade(c)}
}

// unmade says why a cluster of a template has no tunnel while it is made and destroyed.
func unmade(c fleet.Cluster) string {
	switch {
	case c.Origin.Destroying:
		return "is being destroyed"
	case c.Origin.Known() && !c.Registered():
		return "is being made on cluster " + c.Origin.Management + " and has no agent yet; axle clusters get " + c.Name + " shows how far it is"
	}
	return ""
}

// useNonce is one transaction, so that of two replicas with the same ticket one
// gets a Conflict.
func (h *Hub) useNonce(ctx context.Context, nonce []byte, at, forget int64) error {
	return h.store.Write(ctx, func(ctx context.Context) error { return h.store.UseNonce(ctx, nonce, at, forget) })
}

// clustersURL returns the URL prefix of clusters' handles.
func (h *Hub) clustersURL() string {
	return strings.TrimRight(cmp.Or(h.config.K8sOrigin, h.URL()), "/") + authproxy.Prefix
}

// pages makes the requests of pages to clusters.
type pages struct {
	*authproxy.Proxy
	through *authproxy.Pages
}

var _ liveapi.Clusters = pages{}

func newPages(p *authproxy.Proxy) pages { return pages{p, authproxy.NewPages(p)} }

// Do implements liveapi.Clusters.
func (p pages) Do(ctx context.Context, q liveapi.Query) (liveapi.Answer, error) {
	answer, err := p.through.Do(ctx, asking(q))
	return liveapi.Answer(answer), err
}

// Watch implements liveapi.Clusters.
func (p pages) Watch(ctx context.Context, q liveapi.Query, each func(kind string, object []byte) error) error {
	return p.through.Watch(ctx, asking(q), func(e authproxy.Event) error { return each(e.Type, e.Object) })
}

// Logs implements liveapi.Clusters.
func (p pages) Logs(ctx context.Context, q liveapi.Query, each func(lines []byte) error) error {
	return p.through.Logs(ctx, asking(q), each)
}

func asking(q liveapi.Query) authproxy.Asking {
	return authproxy.Asking{
		Caller: q.Caller, Source: q.Source, Handle: q.Handle, URI: q.Path, Table: q.Table,
		Method: q.Method, ContentType: q.ContentType, Body: q.Body, Readiness: q.Readiness, Credential: q.Credential, Cut: q.Cut, Paced: q.Paced,
	}
}
