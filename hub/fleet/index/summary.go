package index

import (
	"strings"

	"github.com/axle-cd/axle/hub/identity"
)

// Summary counts what is within reach.
type Summary struct {
	Clusters, Services                                                     int64
	ClustersByVerdict, ServicesByVerdict, ServicesBySync, ServicesByHealth []Count
	ClustersByFreshness, ClustersByTunnel, Kubernetes, Agents              []Count
	Repositories, RepositoriesFailed                                       int64
}

// narrowed returns a filter of project ids, and whether the caller may know the project.
func (t *table) narrowed(project string, reach identity.Reach) (func(projectID string) bool, bool) {
	if project == "" {
		return func(string) bool { return true }, true
	}
	for _, p := range t.projects {
		if p.Name == project && t.knowsProject(p.ID, reach) {
			return func(id string) bool { return id == p.ID }, true
		}
	}
	return nil, false
}

// knowsProject reports whether a project is within reach or has something that is.
func (t *table) knowsProject(id string, reach identity.Reach) bool {
	if reach.Covers(identity.Scope{Project: id}) {
		return true
	}
	for _, c := range reach.Clusters {
		if c := t.clusters[c]; c != nil && c.ProjectID == id && reach.Covers(c.Scope()) {
			return true
		}
	}
	for _, s := range reach.Services {
		if s := t.services[s]; s != nil && t.project.texts[s.project] == id && reach.Covers(t.scope(s)) {
			return true
		}
	}
	return false
}

// Summary counts the clusters and services of a project, of all when it is empty.
// NotFound for a project that the caller may not know.
func (x *Index) Summary(project string, reach identity.Reach) (out Summary, err error) {
	clusterVerdicts, serviceVerdicts, bySync, byHealth := make(counter, len(verdicts)), make(counter, len(verdicts)), make(counter, len(syncs)), make(counter, len(healths))
	fresh, tunnel, kubernetes, agents := make(counter, len(freshnesses)), make(counter, len(tunnels)), map[string]int64{}, map[string]int64{}
	err = x.within(project, reach, func(t *table, in func(string) bool) {
		for _, c := range t.ordered {
			whole := reach.Covers(c.Scope())
			s := x.state(c)
			if whole && in(c.ProjectID) {
				out.Clusters++
				clusterVerdicts[s.verdict]++
				fresh[freshnesses.number(string(s.freshness))]++
				tunnel[tunnelNumber(s.tunnel)]++
				kubernetes[c.KubernetesVersion]++
				agents[c.AgentVersion]++
			}
			for _, v := range c.services {
				if !in(t.project.texts[v.project]) || !whole && !reach.Covers(t.scope(v)) {
					continue
				}
				out.Services++
				serviceVerdicts[v.verdict(s.freshness)]++
				bySync[v.sync]++
				byHealth[v.health]++
			}
		}
		for _, r := range t.repositoriesWithin(reach) {
			if !in(r.ProjectID) {
				continue
			}
			if out.Repositories++; r.FailedSince != 0 {
				out.RepositoriesFailed++
			}
		}
	})
	out.ClustersByVerdict, out.ServicesByVerdict = clusterVerdicts.inOrder(verdicts), serviceVerdicts.inOrder(verdicts)
	out.ServicesBySync, out.ServicesByHealth = bySync.inOrder(syncs), byHealth.inOrder(healths)
	out.ClustersByFreshness, out.ClustersByTunnel = fresh.inOrder(freshnesses), tunnel.inOrder(tunnels)
	out.Kubernetes, out.Agents = facet("", kubernetes).Values, facet("", agents).Values
	return out, err
}

func tunnelNumber(word string) uint8 {
	for i, w := range tunnels {
		if strings.EqualFold(w, word) {
			return uint8(i)
		}
	}
	return 0
}
