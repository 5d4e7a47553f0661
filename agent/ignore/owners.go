package ignore

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// owners are the managers' sets of fields at one position of an object, in their JSON
// form.
type owners struct {
	ours   []any
	others []any
	// inside says that the position is inside of a list or map that is owned as a whole.
	// Its owners own the whole; nobody owns the position itself.
	inside bool
}

// at returns the owners of a field below.
func (o owners) at(key string) owners {
	if o.inside || o.whole() {
		return owners{o.ours, o.others, true}
	}
	return owners{ours: below(o.ours, "f:"+key), others: below(o.others, "f:"+key)}
}

// of returns the owners of an element of a list.
func (o owners) of(element any) owners {
	if o.inside || o.whole() {
		return owners{o.ours, o.others, true}
	}
	return owners{ours: belowElement(o.ours, element), others: belowElement(o.others, element)}
}

// whole reports whether the position is owned as a whole: some manager owns it, and
// none owns parts of it. One that applied an empty list or map owns no part either.
func (o owners) whole() bool {
	all := slices.Concat(o.ours, o.others)
	return len(all) > 0 && !slices.ContainsFunc(all, func(tree any) bool { return len(fieldsOf(tree)) > 0 })
}

// left reports whether another manager owns the position, so that we can leave it out.
func (o owners) left() bool { return !o.inside && len(o.others) > 0 }

// keys are the fields that identify the elements of a list; none for a list that is
// owned as a whole, and for a set.
func (o owners) keys() []string {
	for _, tree := range slices.Concat(o.ours, o.others) {
		for name := range fieldsOf(tree) {
			if key, ok := elementKey(name); ok {
				return slices.Sorted(maps.Keys(key))
			}
		}
	}
	return nil
}

// nameOf is the name of an element of a keyed list; empty if it has none.
func (o owners) nameOf(element any) string {
	for _, tree := range slices.Concat(o.ours, o.others) {
		for name := range fieldsOf(tree) {
			if _, keyed := elementKey(name); keyed && element != nil && identifies(name, element) {
				return name
			}
		}
	}
	return ""
}

// set reports whether the position is a list whose elements are owned by their values.
func (o owners) set() bool {
	return slices.ContainsFunc(slices.Concat(o.ours, o.others), func(tree any) bool {
		for name := range fieldsOf(tree) {
			if strings.HasPrefix(name, "v:") {
				return true
			}
		}
		return false
	})
}

func fieldsOf(tree any) map[string]any {
	fields, _ := tree.(map[string]any)
	return fields
}

func below(trees []any, field string) []any {
	var out []any
	for _, tree := range trees {
		if inner, ok := fieldsOf(tree)[field]; ok {
			out = append(out, inner)
		}
	}
	return out
}

func belowElement(trees []any, element any) []any {
	var out []any
	for _, tree := range trees {
		for name, inner := range fieldsOf(tree) {
			if identifies(name, element) {
				out = append(out, inner)
			}
		}
	}
	return out
}

// elementKey reads a field name such as k:{"name":"app"}.
func elementKey(name string) (key map[string]any, ok bool) {
	text, ok := strings.CutPrefix(name, "k:")
	return key, ok && json.Unmarshal([]byte(text), &key) == nil
}

// identifies reports whether k:{"name":"app"} or v:"app" is the field name of an element.
func identifies(name string, element any) bool {
	if text, ok := strings.CutPrefix(name, "v:"); ok {
		var value any
		return json.Unmarshal([]byte(text), &value) == nil && same(value, element)
	}
	key, ok := elementKey(name)
	m, isMap := element.(map[string]any)
	if !ok || !isMap {
		return false
	}
	for field, value := range key {
		// A port's protocol may be omitted and default.
		if got, has := m[field]; has && !same(got, value) {
			return false
		}
	}
	return true
}

func same(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) }
