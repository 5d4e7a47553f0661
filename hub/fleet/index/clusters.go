package index

import (
	"cmp"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/errcode"
)

// ClusterFilter selects clusters as ServiceFilter selects services.
type ClusterFilter struct {
	Text                                                                      string
	Project, Tag, Freshness, Tunnel, Verdict, Kubernetes, Agent, Distro, Tool []string
}

// ClusterHit is a cluster of a window.
type ClusterHit struct {
	ID      string
	Verdict Verdict
	Tally   Tally
}

// ClusterPage is the window of a list of clusters.
type ClusterPage struct {
	Hits              []ClusterHit
	Total, Unfiltered int64
	Facets            []Facet
}

var clusterSorts = []string{"name", "project", "verdict", "freshness", "kubernetes_version", "agent_version", "services", "failed", "nodes", "created_at"}

// clusterFields are the facets of clusters, in order.
var clusterFields = []string{"verdict", "freshness", "tunnel", "project", "kubernetes_version", "agent_version", "distro", "managed_by_tool"}

// state is a cluster at the time of a query.
type state struct {
	*cluster
	moment
	verdict Verdict
	tunnel  string
}

// state returns a cluster as it is now.
func (x *Index) state(c *cluster) state {
	at := x.now(c)
	s := state{c, at, c.verdict(at.freshness), "Off"}
	if c.Registered() {
		s.tunnel, _ = x.tunnel(c.ID)
	}
	return s
}

// shownVerdicts are the verdicts that a filter knows a cluster by.
func (s state) values(field string) []string {
	switch field {
	case "verdict":
		if s.needsYou(s.verdict) {
			return []string{s.verdict.String(), NeedsYou}
		}
		return []string{s.verdict.String()}
	case "freshness":
		return []string{string(s.freshness)}
	case "tunnel":
		return []string{s.tunnel}
	case "project":
		return []string{s.Project}
	case "kubernetes_version":
		return []string{s.KubernetesVersion}
	case "agent_version":
		return []string{s.AgentVersion}
	case "distro":
		return []string{s.Distro}
	}
	return []string{cmp.Or(string(s.ManagedBy.Tool), managed.Nobody)}
}

// Clusters returns a window of the clusters within reach that match.
func (x *Index) Clusters(f ClusterFilter, w Window, reach identity.Reach) (page ClusterPage, err error) {
	q, err := f.query()
	if err := cmp.Or(err, w.check(clusterSorts)); err != nil {
		return page, err
	}
	counts, byTag := map[string]map[string]int64{}, tagCounts{}
	for _, field := range clusterFields {
		counts[field] = map[string]int64{}
	}
	err = x.view(func(t *table) {
		var rows []state
		for _, c := range t.ordered {
			if !reach.Covers(c.Scope()) {
				continue
			}
			page.Unfiltered++
			s := x.state(c)
			if !inText(q.words, c.text) {
				continue
			}
			failed := s.fails(q.chosen)
			fails, key := failTags(q.tags, c)
			if len(failed)+fails == 0 {
				rows = append(rows, s)
			}
			if w.Facets {
				s.count(counts, byTag, failed, fails, key)
			}
		}
		rows = sortClusters(rows, w)
		page.Total = int64(len(rows))
		from, to := w.cut(len(rows))
		for _, s := range rows[from:to] {
			page.Hits = append(page.Hits, s.hit())
		}
	})
	if w.Facets && err == nil {
		for _, field := range clusterFields {
			page.Facets = append(page.Facets, facet(field, counts[field]))
		}
		page.Facets = append(page.Facets, byTag.facets()...)
	}
	return page, err
}

// clusterQuery is a filter that is made ready.
type clusterQuery struct {
	words  []word
	chosen map[string]choice
	tags   []tagFilter
}

func (f ClusterFilter) query() (q clusterQuery, err error) {
	q.words, err = wordsOf(f.Text)
	if err := cmp.Or(err, bounded(f.Project, f.Tag, f.Freshness, f.Tunnel, f.Verdict, f.Kubernetes, f.Agent, f.Distro, f.Tool),
		freshnesses.check("freshness", f.Freshness), tunnels.check("tunnel", f.Tunnel), verdicts.check("verdict", f.Verdict, NeedsYou)); err != nil {
		return q, err
	}
	q.chosen, q.tags = map[string]choice{}, tagsOf(f.Tag)
	for i, values := range [][]string{f.Verdict, f.Freshness, f.Tunnel, f.Project, f.Kubernetes, f.Agent, f.Distro, f.Tool} {
		if len(values) > 0 {
			q.chosen[clusterFields[i]] = choose(values)
		}
	}
	return q, nil
}

// matches reports whether a cluster matches all fields.
func (q clusterQuery) matches(s state) bool {
	fails, _ := failTags(q.tags, s.cluster)
	return fails == 0 && inText(q.words, s.text) && len(s.fails(q.chosen)) == 0
}

func inText(words []word, text string) bool {
	for _, w := range words {
		if w.in(text) == w.not {
			return false
		}
	}
	return true
}

// fails returns the fields that a cluster does not match.
func (s state) fails(chosen map[string]choice) (failed []string) {
	for field, c := range chosen {
		values := s.values(field)
		wanted := len(c.want) == 0 || slices.ContainsFunc(values, func(v string) bool { return slices.Contains(c.want, v) })
		if !wanted || slices.ContainsFunc(values, func(v string) bool { return slices.Contains(c.not, v) }) {
			failed = append(failed, field)
		}
	}
	return failed
}

// count adds the cluster to the facets whose own field alone it fails, or to all.
func (s state) count(counts map[string]map[string]int64, byTag tagCounts, failed []string, fails int, key string) {
	switch {
	case len(failed) == 0 && fails == 0:
		for field, values := range counts {
			values[s.values(field)[0]]++
		}
		byTag.add(s.cluster, "", 1)
	case len(failed) == 1 && fails == 0:
		counts[failed[0]][s.values(failed[0])[0]]++
	case len(failed) == 0 && fails == 1:
		byTag.add(s.cluster, key, 1)
	}
}

// hit is what a list shows of a cluster; a Stale one has no healthy services.
func (s state) hit() ClusterHit {
	h := ClusterHit{ID: s.ID, Verdict: s.verdict, Tally: s.tally}
	if s.freshness == fleet.Stale {
		h.Tally.Healthy = 0
	}
	return h
}

func sortClusters(rows []state, w Window) []state {
	field, down := strings.TrimPrefix(w.Sort, "-"), strings.HasPrefix(w.Sort, "-")
	texts := map[string]func(state) string{
		"project":            func(s state) string { return s.Project },
		"kubernetes_version": func(s state) string { return s.KubernetesVersion },
		"agent_version":      func(s state) string { return s.AgentVersion },
	}
	numbers := map[string]func(state) int64{
		"verdict":    func(s state) int64 { return int64(s.verdict) },
		"freshness":  func(s state) int64 { return int64(freshnesses.number(string(s.freshness))) },
		"services":   func(s state) int64 { return int64(s.tally.Services) },
		"failed":     func(s state) int64 { return int64(s.tally.Failed) },
		"nodes":      func(s state) int64 { return int64(s.Nodes) },
		"created_at": func(s state) int64 { return s.CreatedAt },
	}
	switch {
	case texts[field] != nil:
		slices.SortStableFunc(rows, func(a, b state) int {
			if down {
				a, b = b, a
			}
			return strings.Compare(texts[field](a), texts[field](b))
		})
	case numbers[field] != nil:
		return sorting(rows, numbers[field], down)
	case down:
		slices.Reverse(rows)
	}
	return rows
}

// ClustersByID returns those of the clusters that are within reach.
func (x *Index) ClustersByID(ids []string, reach identity.Reach) (hits []ClusterHit, err error) {
	err = x.view(func(t *table) {
		for _, id := range ids {
			if c := t.clusters[id]; c != nil && c.known && reach.Covers(c.Scope()) {
				hits = append(hits, x.state(c).hit())
			}
		}
	})
	return hits, err
}

// ServicesByID returns those of the services that are within reach.
func (x *Index) ServicesByID(ids []string, reach identity.Reach) (within []string, err error) {
	err = x.view(func(t *table) {
		for _, id := range ids {
			if s := t.services[id]; s != nil && reach.Covers(t.scope(s)) {
				within = append(within, id)
			}
		}
	})
	return within, err
}

// ClusterID returns the id of a cluster that is within reach. NotFound.
func (x *Index) ClusterID(name string, reach identity.Reach) (id string, err error) {
	err = x.view(func(t *table) {
		if i, found := slices.BinarySearchFunc(t.ordered, name, byName); found && reach.Covers(t.ordered[i].Scope()) {
			id = t.ordered[i].ID
		}
	})
	if err == nil && id == "" {
		err = errcode.New(errcode.NotFound, "cluster %.80q does not exist", name)
	}
	return id, err
}
