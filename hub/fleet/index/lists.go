package index

import (
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
)

// ServicesAfter returns up to limit ids of services within reach that match and come
// after an entry, in order of cluster and name, and the last entry if more follow. It
// looks at no cluster before the entry.
func (x *Index) ServicesAfter(f ServiceFilter, after fleet.Ref, limit int, reach identity.Reach) (ids []string, last fleet.Ref, err error) {
	q, err := f.query()
	if err != nil {
		return nil, last, err
	}
	err = x.view(func(t *table) {
		q.prepare(t, false)
		from, _ := slices.BinarySearchFunc(t.ordered, after.Cluster, byName)
		for _, c := range t.ordered[from:] {
			q.cluster(c, x.now(c), reach)
			if c.Name == after.Cluster {
				q.matched = slices.DeleteFunc(q.matched, func(s *service) bool { return t.names.texts[s.name] <= after.Name })
			}
			if len(q.matched) > limit {
				q.matched = q.matched[:limit]
				s := q.matched[limit-1]
				last = fleet.Ref{Cluster: s.cluster.Name, Name: t.names.texts[s.name]}
				break
			}
		}
		ids = idsOf(q.matched)
	})
	return ids, last, err
}

// MatchServices returns those of the services that are within reach and match, sorted;
// of all services when ids is nil.
func (x *Index) MatchServices(f ServiceFilter, ids []string, reach identity.Reach) (matching []string, err error) {
	q, err := f.query()
	if err != nil {
		return nil, err
	}
	err = x.view(func(t *table) {
		q.prepare(t, false)
		if ids == nil {
			for _, c := range t.ordered {
				q.cluster(c, x.now(c), reach)
			}
		}
		for _, id := range ids {
			if s := t.services[id]; s != nil && s.cluster.known && reach.Covers(t.scope(s)) {
				q.one(s, x.now(s.cluster))
			}
		}
		matching = idsOf(q.matched)
	})
	slices.Sort(matching)
	return matching, err
}

// one looks at one service.
func (q *query) one(s *service, at moment) {
	failed, inName := q.shared(s.cluster, at)
	if failed == 0 && q.fails(s, s.verdict(at.freshness), inName) == 0 {
		q.matched = append(q.matched, s)
	}
}

// shared returns the fields that all services of a cluster fail, and which words its
// name contains.
func (q *query) shared(c *cluster, at moment) (failed int, inName []bool) {
	if !q.clusters.matches(c.Name) {
		failed |= fieldCluster
	}
	if !q.freshness.matches(string(at.freshness)) {
		failed |= fieldFreshness
	}
	if fails, _ := failTags(q.tags, c); fails > 0 {
		failed |= fieldTag
	}
	inName = make([]bool, len(q.words))
	for i, w := range q.words {
		inName[i] = w.in(strings.ToLower(c.Name))
	}
	return failed, inName
}

// ClustersAfter returns up to limit clusters within reach that match and come after a
// name, in order of name, and the last name if more follow.
func (x *Index) ClustersAfter(f ClusterFilter, name string, limit int, reach identity.Reach) (hits []ClusterHit, last string, err error) {
	q, err := f.query()
	if err != nil {
		return nil, "", err
	}
	err = x.view(func(t *table) {
		from, found := slices.BinarySearchFunc(t.ordered, name, byName)
		if found {
			from++
		}
		for _, c := range t.ordered[from:] {
			s := x.state(c)
			if !reach.Covers(c.Scope()) || !q.matches(s) {
				continue
			}
			if len(hits) == limit {
				last = t.clusters[hits[limit-1].ID].Name
				break
			}
			hits = append(hits, s.hit())
		}
	})
	return hits, last, err
}

// MatchClusters returns those of the clusters that are within reach and match, of all
// clusters when ids is nil.
func (x *Index) MatchClusters(f ClusterFilter, ids []string, reach identity.Reach) (hits []ClusterHit, err error) {
	q, err := f.query()
	if err != nil {
		return nil, err
	}
	err = x.view(func(t *table) {
		look := func(c *cluster) {
			if !c.known || !reach.Covers(c.Scope()) {
				return
			}
			if s := x.state(c); q.matches(s) {
				hits = append(hits, s.hit())
			}
		}
		if ids == nil {
			for _, c := range t.ordered {
				look(c)
			}
		}
		for _, id := range ids {
			if c := t.clusters[id]; c != nil {
				look(c)
			}
		}
	})
	return hits, err
}
