package ignore

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// indexes are the parts of an API server's path of a field that depend on the order of a
// list.
var indexes = regexp.MustCompile(`\[[^\]]*\]`)

// Clear sets to null what the cluster has beside Git's fields where the API server
// refused one, if no other manager owns it: defaults of a member of a union that Git has
// left, which an apply would leave in place. It returns these fields in the form of
// managedFields; nil if there are none. refused are paths as the API server writes them.
// desired is changed.
func Clear(desired, live map[string]any, managers []metav1.ManagedFieldsEntry, refused []string) []byte {
	own, _ := ownersOf(managers)
	c := clearer{}
	for _, path := range refused {
		c.refused = append(c.refused, "."+indexes.ReplaceAllString(path, ""))
	}
	for _, key := range slices.Collect(maps.Keys(desired)) {
		if key != "metadata" && key != "status" {
			c.walk(place{want: desired, live: live, own: own}.at(key), "."+key, []string{"f:" + key})
		}
	}
	if c.found == nil {
		return nil
	}
	fields, _ := json.Marshal(c.found)
	return fields
}

type clearer struct {
	refused []string
	found   map[string]any
}

// add records a field.
func (c *clearer) add(names []string) {
	if c.found == nil {
		c.found = map[string]any{}
	}
	at := c.found
	for _, name := range names {
		if at[name] == nil {
			at[name] = map[string]any{}
		}
		at = fieldsOf(at[name])
	}
}

// walk looks below a position, which has names in managedFields.
func (c *clearer) walk(p place, path string, names []string) {
	switch want := p.want.(type) {
	case map[string]any:
		live, _ := p.live.(map[string]any)
		for key, value := range live {
			inner, at, name := p.at(key), path+"."+key, append(slices.Clone(names), "f:"+key)
			if _, has := want[key]; has {
				c.walk(inner, at, name)
			} else if !inner.own.inside && len(inner.own.others) == 0 && c.near(path, at, value) {
				want[key] = nil
				c.add(name)
			}
		}
	case []any:
		for i, j := range p.pairs(false) {
			if name := p.own.nameOf(nth(p.live, j)); name != "" {
				c.walk(p.element(i, j), path, append(slices.Clone(names), name))
			}
		}
	}
}

// near reports whether a field was refused, is around one that was, or is an object
// beside or directly in one.
func (c *clearer) near(parent, path string, value any) bool {
	return slices.ContainsFunc(c.refused, func(refused string) bool {
		beside := refused[:strings.LastIndex(refused, ".")]
		return refused == path || strings.HasPrefix(refused, path+".") || isMap(value) && (parent == beside || parent == refused)
	})
}
