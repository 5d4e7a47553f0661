package fleet

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// MergeSpec returns old with the fields at the JSON paths taken from new, new
// without paths. A field that new does not have is removed. Invalid when a path
// is no field.
func MergeSpec(old, new Spec, paths []string) (Spec, error) {
	if len(paths) == 0 {
		return new, nil
	}
	into, err := specTree(old)
	if err != nil {
		return Spec{}, err
	}
	from, err := specTree(new)
	if err != nil {
		return Spec{}, err
	}
	for _, path := range paths {
		parts := strings.Split(path, ".")
		if !isField(reflect.TypeFor[Spec](), parts) {
			return Spec{}, field("fields", "%.80q is no field of a service", path)
		}
		copyPath(into, from, parts)
	}
	text, err := json.Marshal(into)
	if err != nil {
		return Spec{}, fmt.Errorf("encode the merged spec: %w", err)
	}
	var merged Spec
	if err := json.Unmarshal(text, &merged); err != nil {
		return Spec{}, fmt.Errorf("decode the merged spec: %w", err)
	}
	return merged, nil
}

// normal returns the spec as it reads back from its JSON, so that equal specs
// are equal: an empty list is no list.
func (s Spec) normal() (Spec, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return Spec{}, fmt.Errorf("encode the spec: %w", err)
	}
	var normal Spec
	if err := json.Unmarshal(text, &normal); err != nil {
		return Spec{}, fmt.Errorf("decode the spec: %w", err)
	}
	return normal, nil
}

func specTree(s Spec) (map[string]any, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode the spec: %w", err)
	}
	tree := map[string]any{}
	return tree, json.Unmarshal(text, &tree)
}

func copyPath(into, from map[string]any, parts []string) {
	last := len(parts) - 1
	for _, part := range parts[:last] {
		from, _ = from[part].(map[string]any)
		next, ok := into[part].(map[string]any)
		if !ok {
			next = map[string]any{}
			into[part] = next
		}
		into = next
	}
	if value, ok := from[parts[last]]; ok {
		into[parts[last]] = value
	} else {
		delete(into, parts[last])
	}
}

// isField reports whether the parts name a field by its JSON names. Keys of
// maps are free.
func isField(t reflect.Type, parts []string) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if len(parts) == 0 {
		return true
	}
	switch t.Kind() {
	case reflect.Map:
		return len(parts) == 1 && parts[0] != ""
	case reflect.Struct:
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			if name == parts[0] {
				return isField(t.Field(i).Type, parts[1:])
			}
		}
	}
	return false
}
