package index

import (
	"cmp"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/identity"
)

// mostExamples is how many names stand for many.
const mostExamples = 3

// Need is a kind of trouble, with how many objects have it.
type Need struct {
	Count    int64
	Examples []string
	// Since is when the first of them began, 0 when that is unknown.
	Since int64
	// Message is of the only one.
	Message string
}

func (n *Need) add(name string, since int64) {
	if n.Count++; len(n.Examples) < mostExamples {
		n.Examples = append(n.Examples, name)
	}
	if since > 0 && (n.Since == 0 || since < n.Since) {
		n.Since = since
	}
}

// Needs are what waits for a person. The failed services are those of the verdict, so
// that the held ones are among them.
type Needs struct {
	Pending, Stale, Failed, Held, Repositories Need
}

// Needs returns what of a project, or of all, waits for a person.
func (x *Index) Needs(project string, reach identity.Reach) (n Needs, err error) {
	err = x.within(project, reach, func(t *table, in func(string) bool) {
		for _, c := range t.ordered {
			whole, s := reach.Covers(c.Scope()), x.state(c)
			if whole && in(c.ProjectID) {
				switch {
				case c.Pending:
					n.Pending.add(c.Name, c.CreatedAt)
				case s.verdict == Stale:
					n.Stale.add(c.Name, s.polledAt)
				}
			}
			if s.verdict == Stale || c.tally.worst != Failed {
				continue
			}
			for _, v := range c.services {
				if v.verdict(s.freshness) != Failed || !in(t.project.texts[v.project]) || !whole && !reach.Covers(t.scope(v)) {
					continue
				}
				name := c.Name + "/" + t.names.texts[v.name]
				n.Failed.add(name, v.reportedAt)
				if v.sync == syncHeld {
					n.Held.add(name, v.reportedAt)
				}
			}
		}
		for _, r := range t.repositoriesWithin(reach) {
			if r.FailedSince != 0 && in(r.ProjectID) {
				n.Repositories.add(r.Name, r.FailedSince)
				n.Repositories.Message = r.Message
			}
		}
	})
	return n, err
}

// repositoriesWithin returns the repositories that the caller may read, in order of name.
func (t *table) repositoriesWithin(reach identity.Reach) (all []Repository) {
	for _, r := range t.repositories {
		if !r.Internal && reach.Covers(r.Scope()) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b Repository) int { return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID)) })
	return all
}
