package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Objects is Decode for one decoded document.
func Objects(source string, value any) ([]Object, []string, error) {
	d := decoder{source: source}
	if err := d.value(value, 0); err != nil {
		return nil, nil, err
	}
	return d.objects, d.warnings, nil
}

// Collect returns the objects in a decoded value: the value itself, or those in its
// lists and, by their keys in order, in its maps. Anything other than objects, lists
// and null is an error with its position.
func Collect(source string, value any) ([]Object, error) {
	d := decoder{source: source}
	if err := d.collect(value, ""); err != nil {
		return nil, err
	}
	return d.objects, nil
}

func (d *decoder) collect(value any, at string) error {
	switch v := value.(type) {
	case nil:
		return nil
	case []any:
		for i, item := range v {
			if err := d.collect(item, at+"["+strconv.Itoa(i)+"]"); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		_, hasVersion := v["apiVersion"].(string)
		_, hasKind := v["kind"].(string)
		if hasVersion || hasKind {
			if err := d.value(v, 0); err != nil {
				return placed(err, at)
			}
			return nil
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := d.collect(v[key], at+"."+key); err != nil {
				return err
			}
		}
		return nil
	}
	return placed(d.fail(0, "expected an object or a list of objects, got a %s", typeName(value)), at)
}

// placed adds the position in a value to an error.
func placed(err error, at string) error {
	if bad, ok := err.(*Error); ok && at != "" {
		bad.Message += " (at " + at + " of the output)"
	}
	return err
}

func typeName(v any) string {
	switch v.(type) {
	case string:
		return "text"
	case bool:
		return "boolean"
	}
	return "number"
}

// Once fails if two objects are the same object in a cluster. namespace is the
// namespace of objects that name none.
func Once(objects []Object, namespace string) error {
	seen := make(map[Key]int, len(objects))
	for i := range objects {
		key := objects[i].Key(namespace)
		first, twice := seen[key]
		if !twice || key.Generated() {
			seen[key] = i
			continue
		}
		where := objects[first].Source
		if objects[first].Line > 0 {
			where += ":" + strconv.Itoa(objects[first].Line)
		}
		return &Error{File: objects[i].Source, Line: objects[i].Line, Message: fmt.Sprintf(
			"%s is rendered twice; the other is of %s", key, where)}
	}
	return nil
}
