package index

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Count is how many have a value.
type Count struct {
	Value string
	Count int64
}

// Facet is a field with the numbers of its values, the most frequent first.
type Facet struct {
	Field   string
	Values  []Count
	LeftOut int
}

// counter counts values of one field by their numbers.
type counter []int64

// facet turns counts into a facet; values without text and with a count of 0 are left
// out.
func facet(field string, values map[string]int64) Facet {
	f := Facet{Field: field}
	for _, v := range slices.SortedFunc(maps.Keys(values), func(a, b string) int { return cmp.Or(cmp.Compare(values[b], values[a]), strings.Compare(a, b)) }) {
		if v == "" || values[v] == 0 {
			continue
		}
		if len(f.Values) == mostValues {
			f.LeftOut++
			continue
		}
		f.Values = append(f.Values, Count{v, values[v]})
	}
	return f
}

// named gives the counts their texts; without names the empty text stays.
func (c counter) named(texts []string) map[string]int64 {
	out := map[string]int64{}
	for i, n := range c {
		if n > 0 && i < len(texts) {
			out[texts[i]] += n
		}
	}
	return out
}

// inOrder returns the counts of a closed list in its order, without zeros.
func (c counter) inOrder(list closed) (out []Count) {
	for i, n := range c {
		if n > 0 {
			out = append(out, Count{list[i], n})
		}
	}
	return out
}

// tagCounts counts the tags of clusters.
type tagCounts map[string]map[string]int64

func (t tagCounts) add(c *cluster, only string, n int64) {
	if n == 0 {
		return
	}
	for key, value := range c.Tags {
		if only != "" && key != only {
			continue
		}
		if t[key] == nil {
			t[key] = map[string]int64{}
		}
		t[key][value] += n
	}
}

// mostTagFacets is how many keys of tags become facets.
const mostTagFacets = 20

// facets returns one facet per key, the most frequent first.
func (t tagCounts) facets() (all []Facet) {
	keys := t.keys()
	for _, key := range keys[:min(len(keys), mostTagFacets)] {
		all = append(all, facet("tag:"+key, t[key]))
	}
	return all
}

// keys are the keys of tags, the most frequent first.
func (t tagCounts) keys() []string {
	total := map[string]int64{}
	for key, values := range t {
		for _, n := range values {
			total[key] += n
		}
	}
	return slices.SortedFunc(maps.Keys(t), func(a, b string) int { return cmp.Or(cmp.Compare(total[b], total[a]), strings.Compare(a, b)) })
}
