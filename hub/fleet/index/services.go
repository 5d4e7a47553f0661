package index

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/errcode"
)

// standardWindow and maxWindow are the default and the largest window of a list.
const (
	standardWindow = 100
	maxWindow      = 500
)

// Window is a part of a list, and how the list is sorted.
type Window struct {
	// Sort is a field; "-" before it descends.
	Sort          string
	Offset, Limit int
	// Facets counts the values of each field.
	Facets bool
}

// cut returns the bounds of the window of n rows.
func (w Window) cut(n int) (from, to int) {
	limit := min(cmp.Or(w.Limit, standardWindow), maxWindow)
	from = min(w.Offset, n)
	return from, min(from+limit, n)
}

func (w Window) check(fields []string) error {
	field := strings.TrimPrefix(w.Sort, "-")
	switch {
	case w.Offset < 0 || w.Limit < 0:
		return errcode.New(errcode.Invalid, "offset and limit: must not be negative")
	case w.Sort != "" && !slices.Contains(fields, field):
		return errcode.New(errcode.Invalid, "sort: %.40q is not known; use %s, with - before it to descend", w.Sort, strings.Join(fields, ", "))
	}
	return nil
}

// ServiceFilter selects services. Within a field any value may match, and all fields
// must; a value that begins with "!" excludes.
type ServiceFilter struct {
	Text                                                             string
	Cluster, Project, Sync, Health, Freshness, Repository, Namespace []string
	Tool, Tag, Verdict, Global                                       []string
	// Name is the whole name. State is Sync, but Deleting for what is being deleted.
	Name, State []string
	Pinned      *bool
}

// Page is the window of a list: ids in order, and what was counted.
type Page struct {
	IDs []string
	// Total matches the filter, Unfiltered is all that the caller may read.
	Total, Unfiltered int64
	Facets            []Facet
}

// The fields of a filter, as bits: a row that fails one field alone is counted in the
// facet of that field.
const (
	fieldText = 1 << iota
	fieldCluster
	fieldProject
	fieldSync
	fieldHealth
	fieldFreshness
	fieldRepository
	fieldNamespace
	fieldTool
	fieldTag
	fieldPinned
	fieldVerdict
	fieldGlobal
	fieldName
	fieldState
	fields = iota
)

var serviceSorts = []string{"cluster", "name", "namespace", "project", "verdict", "sync", "health", "freshness", "repository", "reported_at", "updated_at", "created_at"}

// Services returns a window of the services within reach that match.
func (x *Index) Services(f ServiceFilter, w Window, reach identity.Reach) (page Page, err error) {
	err = x.matching(f, w, reach, func(t *table, q *query, rows []*service) {
		page.Total, page.Unfiltered = int64(len(rows)), q.unfiltered
		from, to := w.cut(len(rows))
		page.IDs = idsOf(rows[from:to])
		if w.Facets {
			page.Facets = q.facets(t)
		}
	})
	return page, err
}

// Select returns the ids of the services within reach that match, in order of cluster
// and name, at most limit.
func (x *Index) Select(f ServiceFilter, reach identity.Reach, limit int) (ids []string, err error) {
	err = x.matching(f, Window{}, reach, func(_ *table, _ *query, rows []*service) {
		ids = idsOf(rows[:min(limit, len(rows))])
	})
	return ids, err
}

// matching gives fn all services within reach that match, in order.
func (x *Index) matching(f ServiceFilter, w Window, reach identity.Reach, fn func(t *table, q *query, rows []*service)) error {
	if err := w.check(serviceSorts); err != nil {
		return err
	}
	q, err := f.query()
	if err != nil {
		return err
	}
	return x.view(func(t *table) {
		q.prepare(t, w.Facets)
		for _, c := range t.ordered {
			q.cluster(c, x.now(c), reach)
		}
		fn(t, q, q.sort(t, w))
	})
}

func idsOf(rows []*service) []string {
	ids := make([]string, len(rows))
	for i, s := range rows {
		ids[i] = s.id
	}
	return ids
}

// query is a filter that is made ready for one table.
type query struct {
	filter ServiceFilter
	words  []word
	tags   []tagFilter

	clusters, freshness                       choice
	syncs, states, healths, verdicts          [8]bool
	projects, repositories, namespaces, tools numbered
	globals, names                            numbered

	table *table
	// found remembers, for each word and table of texts, what contains it.
	found      []lookups
	counts     *serviceCounts
	matched    []*service
	fresh      map[*cluster]fleet.Freshness
	unfiltered int64
}

type lookups struct{ names, namespaces, project, repository []bool }

// serviceCounts are the counts of the facets.
type serviceCounts struct {
	clusters, freshness                             map[string]int64
	project, repository, namespaces, tools, globals counter
	sync, health, verdict, pinned                   counter
	tags                                            tagCounts
}

func (f ServiceFilter) query() (*query, error) {
	q := &query{filter: f, tags: tagsOf(f.Tag), clusters: choose(f.Cluster), freshness: choose(f.Freshness)}
	var err error
	if q.words, err = wordsOf(f.Text); err != nil {
		return nil, err
	}
	if err := cmp.Or(
		bounded(f.Cluster, f.Project, f.Sync, f.Health, f.Freshness, f.Repository, f.Namespace, f.Tool, f.Tag, f.Verdict, f.Global, f.Name, f.State),
		syncs.check("sync", f.Sync), states.check("sync", f.State), healths.check("health", f.Health), freshnesses.check("freshness", f.Freshness), verdicts.check("verdict", f.Verdict),
	); err != nil {
		return nil, err
	}
	q.syncs, q.healths, q.verdicts, q.states = choose(f.Sync).of(syncs), choose(f.Health).of(healths), choose(f.Verdict).of(verdicts), choose(f.State).of(states)
	return q, nil
}

// prepare decides what can be decided once for all services.
func (q *query) prepare(t *table, facets bool) {
	q.table, q.fresh = t, map[*cluster]fleet.Freshness{}
	q.projects, q.repositories = choose(q.filter.Project).numbered(t.project), choose(q.filter.Repository).numbered(t.repository)
	q.namespaces, q.globals = choose(q.filter.Namespace).numbered(t.namespaces), choose(q.filter.Global).numbered(t.globals)
	q.names = choose(q.filter.Name).numbered(t.names)
	q.tools = choose(nobody(q.filter.Tool)).numbered(t.tools)
	for _, w := range q.words {
		in := func(of *words) []bool {
			yes := make([]bool, of.len())
			for i, shown := range of.shown {
				yes[i] = w.in(strings.ToLower(shown))
			}
			return yes
		}
		q.found = append(q.found, lookups{in(t.names), in(t.namespaces), in(t.project), in(t.repository)})
	}
	if facets {
		q.counts = &serviceCounts{
			clusters: map[string]int64{}, freshness: map[string]int64{}, tags: tagCounts{},
			project: make(counter, t.project.len()), repository: make(counter, t.repository.len()), namespaces: make(counter, t.namespaces.len()),
			tools: make(counter, t.tools.len()), globals: make(counter, t.globals.len()),
			sync: make(counter, len(syncs)), health: make(counter, len(healths)), verdict: make(counter, len(verdicts)), pinned: make(counter, 2),
		}
	}
}

// cluster looks at the services of one cluster.
func (q *query) cluster(c *cluster, at moment, reach identity.Reach) {
	if len(c.services) == 0 {
		return
	}
	all := reach.Covers(c.Scope())
	if !all && !reach.Everywhere && len(reach.Projects)+len(reach.Services) == 0 {
		return
	}
	failed, inName := q.shared(c, at)
	q.fresh[c] = at.freshness
	var seen [fields + 1]int64
	for _, s := range c.services {
		if !all && !reach.Covers(q.table.scope(s)) {
			continue
		}
		q.unfiltered++
		mask := failed
		if q.counts == nil && mask != 0 {
			continue
		}
		verdict := s.verdict(at.freshness)
		mask |= q.fails(s, verdict, inName)
		switch {
		case mask == 0:
			q.matched = append(q.matched, s)
		case q.counts == nil || mask&(mask-1) != 0:
			continue
		}
		if q.counts != nil {
			q.counts.count(s, verdict, mask)
			if mask == 0 {
				seen[fields]++
			} else {
				seen[bits.TrailingZeros(uint(mask))]++
			}
		}
	}
	if q.counts != nil {
		fails, key := failTags(q.tags, c)
		q.counts.ofCluster(c, at, seen, fails, key)
	}
}

// scope is a service's scope for access.
func (t *table) scope(s *service) identity.Scope {
	scope := identity.Scope{Project: t.project.texts[s.project], Cluster: s.cluster.ID, Service: s.id}
	if s.cluster.ProjectID != scope.Project {
		scope.ClusterProject = s.cluster.ProjectID
	}
	return scope
}

// fails returns the fields of its own that a service does not match.
func (q *query) fails(s *service, verdict Verdict, inCluster []bool) (mask int) {
	fail := func(ok bool, field int) {
		if !ok {
			mask |= field
		}
	}
	fail(q.verdicts[verdict], fieldVerdict)
	fail(q.syncs[s.sync], fieldSync)
	fail(q.states[s.state()], fieldState)
	fail(q.names.matches(s.name), fieldName)
	fail(q.healths[s.health], fieldHealth)
	fail(q.projects.matches(s.project), fieldProject)
	fail(q.repositories.matches(s.repository), fieldRepository)
	fail(q.namespaces.matches(s.namespace), fieldNamespace)
	fail(q.tools.matches(s.tool), fieldTool)
	fail(q.globals.matches(s.global), fieldGlobal)
	fail(q.filter.Pinned == nil || *q.filter.Pinned == (s.flags&flagPinned != 0), fieldPinned)
	for i, w := range q.words {
		in := &q.found[i]
		has := inCluster[i] || in.names[s.name] || in.namespaces[s.namespace] || in.project[s.project] || in.repository[s.repository]
		fail(has != w.not, fieldText)
	}
	return mask
}

// count adds a service to the facet of the one field that it fails, or to all.
func (n *serviceCounts) count(s *service, verdict Verdict, mask int) {
	counts := func(field int) bool { return mask == 0 || mask == field }
	if counts(fieldProject) {
		n.project[s.project]++
	}
	if counts(fieldRepository) {
		n.repository[s.repository]++
	}
	if counts(fieldNamespace) {
		n.namespaces[s.namespace]++
	}
	if counts(fieldTool) {
		n.tools[s.tool]++
	}
	if counts(fieldGlobal) {
		n.globals[s.global]++
	}
	if counts(fieldSync) {
		n.sync[s.sync]++
	}
	if counts(fieldHealth) {
		n.health[s.health]++
	}
	if counts(fieldVerdict) {
		n.verdict[verdict]++
	}
	if counts(fieldPinned) && s.flags&flagPinned != 0 {
		n.pinned[1]++
	} else if counts(fieldPinned) {
		n.pinned[0]++
	}
}

// ofCluster adds what the services of a cluster share. seen counts those that match,
// at fields, and those that fail one field alone.
func (n *serviceCounts) ofCluster(c *cluster, at moment, seen [fields + 1]int64, fails int, key string) {
	all := seen[fields]
	if count := all + seen[bits.TrailingZeros(fieldCluster)]; count > 0 {
		n.clusters[c.Name] += count
	}
	if count := all + seen[bits.TrailingZeros(fieldFreshness)]; count > 0 {
		n.freshness[string(at.freshness)] += count
	}
	if fails == 0 {
		n.tags.add(c, "", all)
	} else if fails == 1 {
		n.tags.add(c, key, seen[bits.TrailingZeros(fieldTag)])
	}
}

func (q *query) facets(t *table) []Facet {
	n := q.counts
	tools := n.tools.named(t.tools.shown)
	if none := tools[""]; none > 0 {
		tools[managed.Nobody] = none
	}
	all := []Facet{
		{Field: "verdict", Values: n.verdict.inOrder(verdicts)}, {Field: "sync", Values: n.sync.inOrder(syncs)}, {Field: "health", Values: n.health.inOrder(healths)},
		facet("freshness", n.freshness), facet("project", n.project.named(t.project.shown)), facet("cluster", n.clusters), facet("repository", n.repository.named(t.repository.shown)),
		facet("namespace", n.namespaces.named(t.namespaces.shown)), facet("managed_by_tool", tools), facet("global_service", n.globals.named(t.globals.shown)),
		{Field: "pinned", Values: n.pinned.inOrder(closed{"false", "true"})},
	}
	return append(all, n.tags.facets()...)
}

// sort returns the services that match in order. They come in order of cluster and name.
func (q *query) sort(t *table, w Window) []*service {
	field, down := strings.TrimPrefix(w.Sort, "-"), strings.HasPrefix(w.Sort, "-")
	key := q.key(t, field)
	if key == nil {
		if down {
			slices.Reverse(q.matched)
		}
		return q.matched
	}
	return sorting(q.matched, key, down)
}

// key returns what a field is sorted by; nil is the order of the table.
func (q *query) key(t *table, field string) func(*service) int64 {
	ranked := func(w *words, of func(*service) uint32) func(*service) int64 {
		order := w.order()
		return func(s *service) int64 { return int64(order[of(s)]) }
	}
	switch field {
	case "name":
		return ranked(t.names, func(s *service) uint32 { return s.name })
	case "namespace":
		return ranked(t.namespaces, func(s *service) uint32 { return s.namespace })
	case "project":
		return ranked(t.project, func(s *service) uint32 { return s.project })
	case "repository":
		return ranked(t.repository, func(s *service) uint32 { return s.repository })
	case "verdict":
		return func(s *service) int64 { return int64(s.verdict(q.fresh[s.cluster])) }
	case "sync":
		return func(s *service) int64 { return int64(s.sync) }
	case "health":
		return func(s *service) int64 { return int64(s.health) }
	case "freshness":
		return func(s *service) int64 { return int64(freshnesses.number(string(q.fresh[s.cluster]))) }
	case "reported_at":
		return func(s *service) int64 { return s.reportedAt }
	case "updated_at":
		return func(s *service) int64 { return s.updatedAt }
	case "created_at":
		return func(s *service) int64 { return s.createdAt }
	}
	return nil
}

// sorting sorts rows by a key; equal ones keep their order. Keys of a small range, as
// those of closed lists and of ranks are, are counted. Keys are not negative.
func sorting[T any](rows []T, key func(T) int64, down bool) []T {
	type keyed struct {
		key int64
		at  int
	}
	keys := make([]keyed, len(rows))
	most := int64(0)
	for i, r := range rows {
		k := key(r)
		keys[i] = keyed{k, i}
		most = max(most, k)
	}
	out := make([]T, len(rows))
	if most <= int64(2*len(rows)) {
		return counting(rows, out, int(most), func(i int) int { return int(keys[i].key) }, down)
	}
	slices.SortFunc(keys, func(a, b keyed) int {
		if down {
			return cmp.Or(cmp.Compare(b.key, a.key), cmp.Compare(a.at, b.at))
		}
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.at, b.at))
	})
	for i, k := range keys {
		out[i] = rows[k.at]
	}
	return out
}

// counting sorts by keys from 0 to most.
func counting[T any](rows, out []T, most int, key func(int) int, down bool) []T {
	begins := make([]int, most+2)
	place := func(i int) int {
		if down {
			return most - key(i)
		}
		return key(i)
	}
	for i := range rows {
		begins[place(i)+1]++
	}
	for k := 1; k < len(begins); k++ {
		begins[k] += begins[k-1]
	}
	for i, r := range rows {
		p := place(i)
		out[begins[p]] = r
		begins[p]++
	}
	return out
}
