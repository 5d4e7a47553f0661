package index

import (
	"cmp"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// mostCells is how many cells a heat map has in all its groups.
const mostCells = 10000

// Cell is one cluster of a heat map.
type Cell struct {
	Name             string
	Verdict          Verdict
	Services, Failed int
	PolledAt         int64
}

// Group is the cells with one value.
type Group struct {
	Value   string
	Cells   []Cell
	LeftOut int64
}

// HeatMap returns a cell for each cluster within reach, the worst first, and the keys of
// tags that they could be grouped by.
func (x *Index) HeatMap(project, groupBy string, reach identity.Reach) (groups []Group, tagKeys []string, err error) {
	value, err := grouping(groupBy)
	if err != nil {
		return nil, nil, err
	}
	type one struct {
		Cell
		value string
	}
	var cells []one
	keys := tagCounts{}
	err = x.within(project, reach, func(t *table, in func(string) bool) {
		for _, c := range t.ordered {
			if !in(c.ProjectID) || !reach.Covers(c.Scope()) {
				continue
			}
			s := x.state(c)
			keys.add(c, "", 1)
			cells = append(cells, one{Cell{c.Name, s.verdict, c.tally.Services, c.tally.Failed, s.polledAt}, value(c)})
		}
	})
	if err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(cells, func(a, b one) int {
		return cmp.Or(cmp.Compare(a.Verdict, b.Verdict), cmp.Compare(b.Failed, a.Failed))
	})
	at := map[string]int{}
	for i, c := range cells {
		n, known := at[c.value]
		if !known {
			n = len(groups)
			at[c.value] = n
			groups = append(groups, Group{Value: c.value})
		}
		if i < mostCells {
			groups[n].Cells = append(groups[n].Cells, c.Cell)
		} else {
			groups[n].LeftOut++
		}
	}
	// Groups keep their place while clusters change; those without a value are last.
	slices.SortFunc(groups, func(a, b Group) int {
		if (a.Value == "") != (b.Value == "") {
			return cmp.Compare(b.Value, a.Value)
		}
		return strings.Compare(a.Value, b.Value)
	})
	return groups, keys.keys(), nil
}

// grouping returns what clusters are grouped by.
func grouping(by string) (func(*cluster) string, error) {
	switch key, tag := strings.CutPrefix(by, "tag:"); {
	case tag && key != "":
		return func(c *cluster) string { return c.Tags[key] }, nil
	case by == "":
		return func(*cluster) string { return "" }, nil
	case by == "project":
		return func(c *cluster) string { return c.Project }, nil
	case by == "distro":
		return func(c *cluster) string { return c.Distro }, nil
	case by == "kubernetes_version":
		return func(c *cluster) string { return c.KubernetesVersion }, nil
	}
	return nil, errcode.New(errcode.Invalid, "group_by: %.60q is not known; use project, distro, kubernetes_version or tag:KEY", by)
}

// within gives fn the table and a filter of project ids: those of one project, or all
// when it is empty. A project that the caller may not know does not exist.
func (x *Index) within(project string, reach identity.Reach, fn func(t *table, in func(projectID string) bool)) error {
	known := true
	err := x.view(func(t *table) {
		var in func(string) bool
		if in, known = t.narrowed(project, reach); known {
			fn(t, in)
		}
	})
	if err == nil && !known {
		err = errcode.New(errcode.NotFound, "project %.80q does not exist", project)
	}
	return err
}

// Limits reports whether a project limits the namespaces of its services, and whether it
// limits anything that they write. A project that is not known here is limited.
func (x *Index) Limits(projectID string) (namespaces, anything bool) {
	namespaces, anything = true, true
	// Without a table nothing is known.
	_ = x.view(func(t *table) {
		if p, known := t.projects[projectID]; known {
			namespaces, anything = len(p.Limits.Namespaces) > 0, p.limited()
		}
	})
	return namespaces, anything
}

// Cluster returns a cluster by its id, if it is known here.
func (x *Index) Cluster(id string) (c fleet.Cluster, known bool) {
	// Without a table nothing is known.
	_ = x.view(func(t *table) {
		if one := t.clusters[id]; one != nil && one.known {
			c, known = one.Cluster, true
		}
	})
	return c, known
}

// ProjectID returns the id of a project that the caller may know. NotFound.
func (x *Index) ProjectID(name string, reach identity.Reach) (id string, err error) {
	err = x.within(name, reach, func(t *table, in func(string) bool) {
		for _, p := range t.projects {
			if name != "" && in(p.ID) {
				id = p.ID
			}
		}
	})
	return id, err
}
