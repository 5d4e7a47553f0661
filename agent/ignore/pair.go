package ignore

import (
	"slices"
)

// place is one position of an object: its value in Git and in the cluster, both also
// without all ignored fields, and its owners.
type place struct {
	want, live         any
	bareWant, bareLive any
	own                owners
}

// at is the place of a field.
func (p place) at(key string) place {
	in := func(v any) any { m, _ := v.(map[string]any); return m[key] }
	return place{in(p.want), in(p.live), in(p.bareWant), in(p.bareLive), p.own.at(key)}
}

// element is the place of an element i in Git that is element j in the cluster.
func (p place) element(i, j int) place {
	return place{nth(p.want, i), nth(p.live, j), nth(p.bareWant, i), nth(p.bareLive, j), p.own.of(nth(p.live, j))}
}

func listOf(v any) []any { list, _ := v.([]any); return list }

// nth is an element of a list, nil where another path left nothing of the list.
func nth(v any, i int) any {
	if list := listOf(v); i >= 0 && i < len(list) {
		return list[i]
	}
	return nil
}

// pairs finds the element of the cluster for each element in Git; -1 is none. The
// elements of a keyed list have the same keys. Those of other lists have the same unique
// name, or are equal but for ignored fields, and nothing else is. onWay says that the
// path goes on to a list further inside, whose elements are compared in turn: then the
// last one of both sides may be taken for the same.
func (p place) pairs(onWay bool) (twins []int) {
	want, live := listOf(p.want), listOf(p.live)
	twins = slices.Repeat([]int{-1}, len(want))
	match := func(like func(i, j int) bool) {
		for i := range want {
			if twins[i] >= 0 {
				continue
			}
			if j := unique(len(live), func(j int) bool { return !slices.Contains(twins, j) && like(i, j) }); j >= 0 &&
				unique(len(want), func(i int) bool { return twins[i] < 0 && like(i, j) }) == i {
				twins[i] = j
			}
		}
	}
	if keys := p.own.keys(); len(keys) > 0 {
		match(func(i, j int) bool { return sameKeys(keys, want[i], live[j], false) })
		match(func(i, j int) bool { return sameKeys(keys, want[i], live[j], true) })
		return twins
	}
	if !slices.ContainsFunc(want, isMap) {
		// Nothing but their place identifies plain values.
		match(func(i, j int) bool { return i == j && len(want) == len(live) })
		return twins
	}
	match(func(i, j int) bool { return sameName(want[i], live[j]) })
	match(func(i, j int) bool {
		w, l := nth(p.bareWant, i), nth(p.bareLive, j)
		return within(w, l) && within(l, w)
	})
	match(func(i, j int) bool { return within(nth(p.bareWant, i), nth(p.bareLive, j)) })
	if onWay {
		match(func(int, int) bool { return true })
	}
	return twins
}

// unique returns the only number below most for which a condition holds; -1 if there is
// none, or more than one.
func unique(most int, holds func(int) bool) int {
	found := -1
	for n := range most {
		if holds(n) {
			if found >= 0 {
				return -1
			}
			found = n
		}
	}
	return found
}

func isMap(v any) bool { _, ok := v.(map[string]any); return ok }

// sameKeys reports whether two elements have the same keys. With defaults the one in Git
// may omit some.
func sameKeys(keys []string, want, live any, defaults bool) bool {
	w, _ := want.(map[string]any)
	l, _ := live.(map[string]any)
	return !slices.ContainsFunc(keys, func(key string) bool {
		value, has := w[key]
		return !has && !defaults || has && !same(value, l[key])
	})
}

func sameName(want, live any) bool {
	w, _ := want.(map[string]any)
	l, _ := live.(map[string]any)
	return w["name"] != nil && same(w["name"], l["name"])
}

// within reports whether everything in a is the same in b, which may have more fields.
func within(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		m, ok := b.(map[string]any)
		for key, value := range a {
			other, has := m[key]
			ok = ok && has && within(value, other)
		}
		return ok
	case []any:
		list, ok := b.([]any)
		return ok && slices.EqualFunc(a, list, within)
	}
	return same(a, b)
}

// strip removes an ignored field wherever its path leads, whichever elements it chooses.
// Of a whole element its name remains.
func strip(at any, steps []step) {
	switch v := at.(type) {
	case map[string]any:
		for _, key := range steps[0].keysIn(v) {
			if len(steps) == 1 {
				delete(v, key)
			} else {
				strip(v[key], steps[1:])
			}
		}
	case []any:
		for i, element := range v {
			if len(steps) > 1 {
				strip(element, steps[1:])
			} else if m, ok := element.(map[string]any); ok && m["name"] != nil {
				v[i] = map[string]any{"name": m["name"]}
			} else {
				v[i] = nil
			}
		}
	}
}

// valuesAt are the values of an ignored field below a position, in order.
func valuesAt(at any, steps []step) (all []any) {
	if len(steps) == 0 {
		return []any{at}
	}
	switch v := at.(type) {
	case map[string]any:
		for _, key := range steps[0].keysIn(v) {
			all = append(all, valuesAt(v[key], steps[1:])...)
		}
	case []any:
		for _, element := range v {
			all = append(all, valuesAt(element, steps[1:])...)
		}
	}
	return all
}
