// Package converttest finds the fields that a converter of a service's spec loses. Tests
// of the converters use it.
package converttest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/axle-cd/axle/api/spec/convert"
)

// Fill gives every field of the struct that v points to a value, a different one to each
// text. Lists and maps get one element; a type that reads JSON itself gets an object.
func Fill(v any) {
	n := 0
	fill(reflect.ValueOf(v).Elem(), &n)
}

func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text-%d", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n)
		fill(value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if own, ok := v.Addr().Interface().(json.Unmarshaler); ok {
			_ = own.UnmarshalJSON(fmt.Appendf(nil, `{"number": %d}`, *n)) // else Unset names it
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); convert.Name(f) != "" || convert.Inlined(f) {
				fill(v.Field(i), n)
			}
		}
	}
}

// Lost returns the paths of the fields of In, by JSON names and sorted, that do not reach
// what a converter returns: it returns the same text whether they are set or not. Of a
// struct that is lost as a whole only its own path is returned. The types of whole are
// values, whose fields do not count.
func Lost[In any](converter func(*In) string, whole ...any) []string {
	full := new(In)
	Fill(full)
	values := map[reflect.Type]bool{}
	for _, v := range whole {
		values[reflect.TypeOf(v)] = true
	}
	var lost []string
	find(reflect.TypeFor[In](), "", nil, func(path string, index []int, inner reflect.Type) bool {
		without := new(In)
		Fill(without)
		clearAt(reflect.ValueOf(without).Elem(), index)
		isLost := converter(without) == converter(full)
		if isLost {
			lost = append(lost, path)
		}
		return !isLost && !values[inner]
	})
	slices.Sort(lost)
	return lost
}

// find visits the fields of a struct, and those inside a field if visit returns true.
func find(t reflect.Type, under string, index []int, visit func(path string, index []int, inner reflect.Type) bool) {
	for i := range t.NumField() {
		name, inner := convert.Name(t.Field(i)), t.Field(i).Type
		if convert.Inlined(t.Field(i)) {
			find(inner, under, append(slices.Clone(index), i), visit)
		}
		if name == "" {
			continue
		}
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice || inner.Kind() == reflect.Map {
			inner = inner.Elem()
		}
		at := append(slices.Clone(index), i)
		if visit(under+name, at, inner) && inner.Kind() == reflect.Struct {
			find(inner, under+name+".", at, visit)
		}
	}
}

// clearAt clears the field at an index, inside pointers and first elements.
func clearAt(v reflect.Value, index []int) {
	switch v.Kind() {
	case reflect.Pointer:
		clearAt(v.Elem(), index)
	case reflect.Slice:
		clearAt(v.Index(0), index)
	case reflect.Map:
		key, one := v.MapKeys()[0], reflect.New(v.Type().Elem()).Elem()
		one.Set(v.MapIndex(key))
		clearAt(one, index)
		v.SetMapIndex(key, one)
	default:
		if f := v.Field(index[0]); len(index) > 1 {
			clearAt(f, index[1:])
		} else {
			f.SetZero()
		}
	}
}

// Unset returns the paths of the fields that are not set, sorted. Of lists and maps it
// looks at the first element.
func Unset(v any) []string {
	paths := unset(reflect.ValueOf(v), "")
	slices.Sort(paths)
	return paths
}

func unset(v reflect.Value, under string) (paths []string) {
	switch v.Kind() {
	case reflect.Pointer:
		return unset(v.Elem(), under)
	case reflect.Slice:
		return unset(v.Index(0), under)
	case reflect.Map:
		return unset(v.MapIndex(v.MapKeys()[0]), under)
	case reflect.Struct:
		for i := range v.NumField() {
			name, f := convert.Name(v.Type().Field(i)), v.Field(i)
			if name == "" {
				continue
			}
			if f.IsZero() {
				paths = append(paths, under+name)
				continue
			}
			paths = append(paths, unset(f, under+name+".")...)
		}
	}
	return paths
}
