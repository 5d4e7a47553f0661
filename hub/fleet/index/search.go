package index

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/identity"
)

const (
	// standardResults and maxResults are how many results of a kind are returned.
	standardResults = 8
	maxResults      = 100
)

// The kinds of results, in order.
var searchKinds = []string{"cluster", "service", "repository", "project"}

// prefixes limit a search to a kind.
var prefixes = map[string]string{"c:": "cluster", "s:": "service", "r:": "repository", "p:": "project"}

// Result is what a search found.
type Result struct {
	Kind, ID, Name, Detail, Verdict, Href string
	// rank is how well it matches; the best is the smallest.
	rank int
}

// commit is a hash, or the beginning of one.
var commit = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// search is what is looked for.
type search struct {
	kind  string
	text  string
	words []word
	// hash is set when the text may be a commit.
	hash  string
	limit int
	found map[string][]Result
	total map[string]int64
}

// Search finds clusters, services, repositories and projects within reach by name or
// id, and services by the commit that they run or want.
func (x *Index) Search(text string, limit int, reach identity.Reach) ([]Result, []Count, error) {
	q := &search{text: strings.ToLower(strings.TrimSpace(text)), limit: min(cmp.Or(max(limit, 0), standardResults), maxResults), found: map[string][]Result{}, total: map[string]int64{}}
	for prefix, kind := range prefixes {
		if rest, has := strings.CutPrefix(q.text, prefix); has {
			q.kind, q.text = kind, strings.TrimSpace(rest)
			break
		}
	}
	var err error
	if q.words, err = wordsOf(q.text); err != nil {
		return nil, nil, err
	}
	if commit.MatchString(q.text) {
		q.hash = q.text
	}
	if q.text == "" && q.kind == "" {
		return nil, nil, nil
	}
	err = x.view(func(t *table) {
		q.clusters(x, t, reach)
		q.services(x, t, reach)
		q.others(t, reach)
	})
	results, totals := q.best()
	return results, totals, err
}

// rank returns how well a name matches, -1 for not at all. beside is further text that
// words may be in.
func (q *search) rank(id, name, beside string) int {
	name = strings.ToLower(name)
	switch {
	case q.text != "" && (q.text == strings.ToLower(id) || q.text == name):
		return 0
	case !inText(q.words, name+" "+strings.ToLower(beside)):
		return -1
	case len(q.words) > 0 && strings.HasPrefix(name, strings.TrimSuffix(q.words[0].text, "*")):
		return 1
	case inText(q.words, name):
		return 2
	}
	return 3
}

func (q *search) wants(kind string) bool { return q.kind == "" || q.kind == kind }

// add keeps a result; all of them are counted. Only the best are kept.
func (q *search) add(r Result) {
	if r.rank < 0 {
		return
	}
	q.total[r.Kind]++
	q.found[r.Kind] = append(q.found[r.Kind], r)
	if len(q.found[r.Kind]) >= 4*maxResults {
		q.cut(r.Kind)
	}
}

// cut keeps the best results of a kind.
func (q *search) cut(kind string) {
	all := q.found[kind]
	slices.SortStableFunc(all, func(a, b Result) int { return cmp.Compare(a.rank, b.rank) })
	q.found[kind] = all[:min(len(all), q.limit)]
}

func (q *search) best() (results []Result, totals []Count) {
	for _, kind := range searchKinds {
		if q.total[kind] > 0 {
			q.cut(kind)
			results = append(results, q.found[kind]...)
			totals = append(totals, Count{kind, q.total[kind]})
		}
	}
	return results, totals
}

func (q *search) clusters(x *Index, t *table, reach identity.Reach) {
	if !q.wants("cluster") {
		return
	}
	for _, c := range t.ordered {
		if !reach.Covers(c.Scope()) {
			continue
		}
		if rank := q.rank(c.ID, c.Name, c.text); rank >= 0 {
			q.add(Result{Kind: "cluster", ID: c.ID, Name: c.Name, Detail: c.Project, Verdict: x.state(c).verdict.String(), Href: "/clusters/" + url.PathEscape(c.Handle), rank: rank})
		}
	}
}

func (q *search) services(x *Index, t *table, reach identity.Reach) {
	if !q.wants("service") {
		return
	}
	byHash := make([]bool, t.revisions.len())
	for i, revision := range t.revisions.texts {
		byHash[i] = q.hash != "" && strings.HasPrefix(revision, q.hash)
	}
	// What a name says is decided once, however many services have it.
	byName := make([]int, t.names.len())
	for i, name := range t.names.texts {
		byName[i] = q.rank("", name, "")
	}
	for _, c := range t.ordered {
		all := reach.Covers(c.Scope())
		freshness := x.now(c).freshness
		// Words may be in the cluster's name as well, and CLUSTER/NAME is a name.
		inCluster := len(q.words) == 0 || slices.ContainsFunc(q.words, func(w word) bool { return w.not || w.wild || strings.Contains(w.text, "/") || w.in(c.Name) })
		for _, s := range c.services {
			if !all && !reach.Covers(t.scope(s)) {
				continue
			}
			name, rank := t.names.texts[s.name], byName[s.name]
			switch {
			case s.id == q.text:
				rank = 0
			case inCluster:
				rank = q.rank(s.id, name, c.Name+"/"+name)
			}
			if rank < 0 && (byHash[s.desired] || byHash[s.applied]) {
				rank = 4
			}
			if rank >= 0 {
				q.add(Result{Kind: "service", ID: s.id, Name: name, Detail: c.Name, Verdict: s.verdict(freshness).String(), Href: "/services/" + url.PathEscape(c.Name) + "/" + url.PathEscape(name), rank: rank})
			}
		}
	}
}

func (q *search) others(t *table, reach identity.Reach) {
	if q.wants("repository") {
		for _, r := range t.repositoriesWithin(reach) {
			verdict := Healthy
			if r.FailedSince != 0 {
				verdict = Failed
			}
			q.add(Result{Kind: "repository", ID: r.ID, Name: r.Name, Detail: r.URL, Verdict: verdict.String(), Href: "/repositories/" + url.PathEscape(r.Name), rank: q.rank(r.ID, r.Name, r.URL)})
		}
	}
	if !q.wants("project") {
		return
	}
	var known []Project
	for _, p := range t.projects {
		if t.knowsProject(p.ID, reach) {
			known = append(known, p)
		}
	}
	slices.SortFunc(known, func(a, b Project) int { return strings.Compare(a.Name, b.Name) })
	for _, p := range known {
		q.add(Result{Kind: "project", ID: p.ID, Name: p.Name, Href: "/projects/" + url.PathEscape(p.Name), rank: q.rank(p.ID, p.Name, "")})
	}
}
