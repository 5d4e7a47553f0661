package strictyaml

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// unmarshaler is the interface of types that read themselves: to them a null is a value.
var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// nulls goes beside a decoded value through what it was decoded from. A null is as if its
// field or its key were not there, and no element of a list: so does an API server where the
// schema of a kind has a type.
func nulls(at string, from any, into reflect.Value) error {
	for into.Kind() == reflect.Pointer && !into.IsNil() {
		into = into.Elem()
	}
	if open(into.Type()) {
		return nil
	}
	switch from := from.(type) {
	case map[string]any:
		return nullsOfFields(at, from, into)
	case []any:
		if into.Kind() != reflect.Slice || into.Len() != len(from) {
			return nil
		}
		for i, one := range from {
			here := fmt.Sprintf("%s[%d]", at, i)
			if one == nil && !open(into.Type().Elem()) {
				return fmt.Errorf("%s is null: give it a value, or remove it from the list", here)
			}
			if err := nulls(here, one, into.Index(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func nullsOfFields(at string, from map[string]any, into reflect.Value) error {
	for name, one := range from {
		here := strings.TrimPrefix(at+"."+name, ".")
		var field reflect.Value
		switch into.Kind() {
		case reflect.Struct:
			field = fieldOf(into, name)
		case reflect.Map:
			if key := reflect.ValueOf(name).Convert(into.Type().Key()); one == nil && !open(into.Type().Elem()) {
				into.SetMapIndex(key, reflect.Value{})
			} else {
				field = into.MapIndex(key)
			}
		}
		if !field.IsValid() {
			continue
		}
		if err := nulls(here, one, field); err != nil {
			return err
		}
	}
	return nil
}

// fieldOf is the field of a struct with a name in JSON, also in those that are inline.
func fieldOf(of reflect.Value, name string) reflect.Value {
	for i := range of.NumField() {
		field := of.Type().Field(i)
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tag == name && field.IsExported() {
			return of.Field(i)
		}
		if tag == "" && field.Anonymous && field.Type.Kind() == reflect.Struct {
			if found := fieldOf(of.Field(i), name); found.IsValid() {
				return found
			}
		}
	}
	return reflect.Value{}
}

// open reports whether a null is a value of a type.
func open(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Interface || reflect.PointerTo(t).Implements(unmarshaler)
}
