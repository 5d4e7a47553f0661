package ignore

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// owners are the managers' sets of fields at one position of an object, in their JSON
// form.
type owners struct {
	ours   []any
	others []any
}

// Fill sets the given paths of an object to be applied: to the live value while no
// manager other than ours owns the field, and to nothing once one does. Invalid: a
// path is not valid.
func Fill(desired, live map[string]any, managers []metav1.ManagedFieldsEntry, paths []string) error {
	var own owners
	byManager := map[string][]any{}
	for _, e := range managers {
		var tree map[string]any
		if e.FieldsV1 == nil || json.Unmarshal(e.FieldsV1.GetRawBytes(), &tree) != nil {
			continue
		}
		if e.Manager == kubeobj.FieldManager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == "" {
			own.ours = append(own.ours, tree)
			continue
		}
		own.others = append(own.others, tree)
		byManager[e.Manager] = append(byManager[e.Manager], tree)
	}
	for _, text := range paths {
		if name, ok := strings.CutPrefix(text, managerPrefix); ok {
			for manager, trees := range byManager {
				if like(name, manager) {
					drop(desired, live, trees)
				}
			}
			continue
		}
		steps, err := parsePath(text)
		if err != nil {
			return err
		}
		fillAt(desired, live, own, steps)
	}
	return nil
}

// fillAt follows a path from a map or a list.
func fillAt(desired, live any, own owners, steps []step) {
	if len(steps) == 0 {
		return
	}
	switch d := desired.(type) {
	case map[string]any:
		l, _ := live.(map[string]any)
		keys := []string{steps[0].key}
		if steps[0].all {
			keys = keysOf(d)
		}
		for _, key := range keys {
			fillKey(d, l, key, own.at("f:"+key), steps[1:])
		}
	case []any:
		l, _ := live.([]any)
		for i, element := range d {
			if twin, ok := twinOf(element, i, l); ok && steps[0].chooses(element, i) {
				if len(steps) == 1 {
					if _, isMap := element.(map[string]any); !isMap {
						d[i] = twin
						continue
					}
					fillAll(element, twin, own.of(element))
					continue
				}
				fillAt(element, twin, own.of(element), steps[1:])
			}
		}
	}
}

func fillKey(d, l map[string]any, key string, own owners, rest []step) {
	if isMark(key) {
		return
	}
	wanted, has := d[key]
	lives, there := l[key]
	if len(rest) > 0 {
		fillAt(wanted, lives, own, rest)
		return
	}
	_, wantedMap := wanted.(map[string]any)
	_, livesMap := lives.(map[string]any)
	switch {
	case !there:
		delete(d, key)
	case has && wantedMap && livesMap && !own.leaf():
		fillAll(wanted, lives, own)
	case len(own.others) > 0 && !isList(lives):
		delete(d, key)
	case has || len(own.ours) > 0:
		d[key] = lives
	}
}

// fillAll fills everything in a map whose fields may have different owners.
func fillAll(desired, live any, own owners) {
	d, _ := desired.(map[string]any)
	l, _ := live.(map[string]any)
	for _, key := range append(keysOf(d), keysOf(l)...) {
		if key == "name" && own.byKey(d) {
			continue // it identifies the element in its list
		}
		fillKey(d, l, key, own.at("f:"+key), nil)
	}
}

// drop removes fields that another manager has set.
func drop(desired, live any, trees []any) {
	for _, tree := range trees {
		fields, _ := tree.(map[string]any)
		for name, inner := range fields {
			key, isField := strings.CutPrefix(name, "f:")
			children, _ := inner.(map[string]any)
			switch d := desired.(type) {
			case map[string]any:
				if !isField || isMark(key) {
					continue
				}
				if len(children) == 0 {
					delete(d, key)
					continue
				}
				l, _ := live.(map[string]any)
				drop(d[key], l[key], []any{inner})
			case []any:
				for _, element := range d {
					if elementKey(name, element) {
						drop(element, nil, []any{withoutKey(name, children)})
					}
				}
			}
		}
	}
}

// withoutKey are an element's fields except those that identify it.
func withoutKey(name string, fields map[string]any) map[string]any {
	var key map[string]any
	if json.Unmarshal([]byte(strings.TrimPrefix(name, "k:")), &key) != nil {
		return fields
	}
	rest := map[string]any{}
	for field, inner := range fields {
		if _, names := key[strings.TrimPrefix(field, "f:")]; !names {
			rest[field] = inner
		}
	}
	return rest
}

// at returns the owners of a field below; the owner of the whole owns everything in
// it.
func (o owners) at(field string) owners {
	return owners{below(o.ours, field), below(o.others, field)}
}

func below(trees []any, field string) []any {
	var out []any
	for _, tree := range trees {
		fields, _ := tree.(map[string]any)
		if inner, ok := fields[field]; ok {
			out = append(out, inner)
		} else if len(fields) == 0 {
			out = append(out, tree)
		}
	}
	return out
}

// of returns the owners of an element of a list.
func (o owners) of(element any) owners {
	return owners{belowElement(o.ours, element), belowElement(o.others, element)}
}

func belowElement(trees []any, element any) []any {
	var out []any
	for _, tree := range trees {
		fields, _ := tree.(map[string]any)
		if len(fields) == 0 {
			out = append(out, tree)
		}
		for name, inner := range fields {
			if elementKey(name, element) {
				out = append(out, inner)
			}
		}
	}
	return out
}

// elementKey reports whether a field name such as k:{"name":"app"} identifies an
// element.
func elementKey(name string, element any) bool {
	text, ok := strings.CutPrefix(name, "k:")
	m, isMap := element.(map[string]any)
	var key map[string]any
	if !ok || !isMap || json.Unmarshal([]byte(text), &key) != nil {
		return false
	}
	for field, value := range key {
		// A port's protocol may be omitted and default.
		if got, has := m[field]; has && fmt.Sprint(got) != fmt.Sprint(value) {
			return false
		}
	}
	return true
}

// leaf reports whether a manager owns the position as a whole.
func (o owners) leaf() bool {
	return slices.ContainsFunc(append(slices.Clone(o.ours), o.others...), func(tree any) bool {
		fields, _ := tree.(map[string]any)
		return len(fields) == 0
	})
}

// byKey reports whether the position is an element identified by its name.
func (o owners) byKey(d map[string]any) bool { _, has := d["name"]; return has }

func isList(v any) bool { _, ok := v.([]any); return ok }

func isMark(key string) bool {
	return key == kubeobj.ManagedLabel || key == kubeobj.ServiceAnnotation || key == kubeobj.TrackingAnnotation
}

// twinOf finds the live element that corresponds to a desired one: by its name,
// otherwise by its index.
func twinOf(element any, index int, live []any) (any, bool) {
	if m, ok := element.(map[string]any); ok && m["name"] != nil {
		for _, l := range live {
			if other, ok := l.(map[string]any); ok && other["name"] == m["name"] {
				return l, true
			}
		}
		return nil, false
	}
	if index < len(live) {
		return live[index], true
	}
	return nil, false
}

func keysOf(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	return keys
}
