// Package partial changes some fields of a value and keeps the others. Fields are
// named as in JSON. It does not interpret them.
package partial

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// NoFieldError is an error about a path that names no field.
type NoFieldError struct{ Path string }

// Error implements error.
func (e *NoFieldError) Error() string { return fmt.Sprintf("%.80q is not a field", e.Path) }

// Merge returns old with the fields at the JSON paths ("git.ref") taken from new;
// without paths it returns new. A field that new does not have is removed. Errors are
// NoFieldError.
func Merge[T any](old, new T, paths []string) (merged T, err error) {
	if len(paths) == 0 {
		return new, nil
	}
	into, err := tree(old)
	if err != nil {
		return merged, err
	}
	from, err := tree(new)
	if err != nil {
		return merged, err
	}
	for _, path := range paths {
		parts := strings.Split(path, ".")
		if !isField(reflect.TypeFor[T](), parts) {
			return merged, &NoFieldError{path}
		}
		copyPath(into, from, parts)
	}
	return as[T](into)
}

// Normal returns a value as decoded from its JSON, so that equal values compare
// equal: an empty list becomes nil.
func Normal[T any](v T) (T, error) { return as[T](v) }

// as decodes a value from the JSON of another.
func as[T any](v any) (out T, err error) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}

func tree(v any) (map[string]any, error) { return as[map[string]any](v) }

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

// isField reports whether the parts name a field by its JSON names. Any key of a map
// is valid.
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
