package hub

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/console"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/login"
	"github.com/axle-cd/axle/hub/manifests"
	"github.com/axle-cd/axle/hub/preview"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/tunnel/authproxy"
	"github.com/axle-cd/axle/hub/webhook"
	"github.com/axle-cd/axle/internal/buildinfo"
)

// newConsole creates the API for people.
func newConsole(h *Hub, previews *preview.Previews) (*console.Server, error) {
	authority, err := h.authority()
	if err != nil {
		return nil, err
	}
	return console.New(console.Config{
		Identity: h.callers.Identity, Accounts: h.callers.Accounts, AgentKeys: h.callers.AgentKeys, Trusts: h.callers.Trusts, Fleet: h.fleet, Index: h.index, Streams: h.streams, Globals: h.globals, Rollouts: h.rollouts, Operations: h.operations, Namespaces: h.namespaces, Notifier: h.notifier, Objects: h.objects, Applications: h.applications, Observer: h.observer, Made: h.clusters, Cache: h.cache, Previews: previews, Agents: h.agents, Webhooks: gitcache.Webhooks{WebhookStore: h.store}, Values: h.values, Movable: h.values, ValueSetByName: h.store.ValueSetByName, WebhookPath: webhook.Path,
		Feed: h.feed, Lives: h.store, Audit: h.audit, People: &login.Trials{Server: h.login},
		Events: func(ctx context.Context, cluster, service string, after int64, limit int, r identity.Reach) ([]event.Entry, error) {
			return h.store.Events(ctx, store.EventFilter{Cluster: cluster, Service: service, After: after, Limit: limit, Reach: &r})
		},
		Changes: func(ctx context.Context, cluster string, before int64, limit int, r identity.Reach) ([]event.Entry, error) {
			return h.store.Events(ctx, store.EventFilter{Cluster: cluster, Before: before, Limit: limit, Reach: &r})
		},
		Replicas: h.replicaList, ServicesByRepository: h.store.ServicesByRepository, RepositoryUsers: store.RepositoryUsers(h.store), ServicesBySource: h.store.ServicesBySource, UsesOfValueSets: h.store.UsesWithin, Placements: h.placements, Drain: h.drain, AtRisk: h.atRisk, Backups: h.backups, Tunnels: h.tunnels,
		Pools: h.pools, Live: newPages(h.proxy), ClustersURL: h.clustersURL(), TicketPath: authproxy.TicketPath, ExternalURL: h.URL(), AgentsURL: h.agentsURL(), Deploy: h.config.Deploy, AgentImage: h.agentImage(), CAPEM: authority, Database: h.store.Database(), Version: buildinfo.Version, Clock: h.config.Clock, Log: h.log,
	})
}

// authority is the certificates that agents trust beside the system's, as PEM; empty for none.
func (h *Hub) authority() (string, error) {
	path := h.CAFile()
	if path == "" {
		return "", nil
	}
	pem, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the certificate authority: %w", err)
	}
	return string(pem), nil
}

// agentsURL is where agents reach the hub.
func (h *Hub) agentsURL() string { return strings.TrimRight(cmp.Or(h.config.AgentsURL, h.URL()), "/") }

// agentImage is the image of new agents.
func (h *Hub) agentImage() string {
	return cmp.Or(h.config.AgentImage, manifests.AgentImage+":"+buildinfo.Version)
}

// replicaShown is how long a replica that is gone stays in the list.
const replicaShown = 24 * time.Hour

// replicaList returns the hub's processes for people.
func (h *Hub) replicaList(ctx context.Context) ([]console.Replica, error) {
	placements, err := h.store.Placements(ctx)
	if err != nil {
		return nil, err
	}
	owned := map[string]int{}
	for _, p := range placements {
		if p.Held {
			owned[p.Owner]++
		}
	}
	if h.replicas.alone {
		self := h.replicas.members.Self
		self.URL, self.SeenAt, self.Condition = h.URL(), h.config.Clock.Now(), h.condition()
		return []console.Replica{{Replica: self, Repositories: owned[h.replica]}}, nil
	}
	if err := h.replicas.members.Look(ctx); err != nil {
		return nil, err
	}
	var list []console.Replica
	now := h.config.Clock.Now()
	for _, r := range h.replicas.members.Known() {
		if r.Present || now.Sub(r.SeenAt) < replicaShown {
			list = append(list, console.Replica{Replica: r, Repositories: owned[r.Name]})
		}
	}
	return list, nil
}

// placements returns which replica fetches each repository, or the given one,
// and which one has a second copy.
func (h *Hub) placements(ctx context.Context, repositoryID string) (map[string]gitcache.Placement, error) {
	if repositoryID != "" {
		p, err := h.store.Placement(ctx, repositoryID)
		return map[string]gitcache.Placement{repositoryID: p}, err
	}
	all, err := h.store.Placements(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[string]gitcache.Placement, len(all))
	for _, p := range all {
		out[p.RepositoryID] = p
	}
	return out, nil
}
