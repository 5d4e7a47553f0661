// Package deepcopy copies objects of API types. Kubernetes asks every object for a deep
// copy; one function over reflection takes the place of two generated ones for each
// type (ADR 142).
//
// It copies what JSON can hold: structs of exported fields, pointers, slices, maps and
// plain values. Types of other modules that have more copy themselves. A test of test/kinds
// fails for a kind with anything else.
package deepcopy

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Of returns a copy that shares nothing with in. The copy of nil is nil.
func Of[T any](in *T) *T {
	if in == nil {
		return nil
	}
	out := new(T)
	into(reflect.ValueOf(out).Elem(), reflect.ValueOf(in).Elem())
	return out
}

// into copies an addressable value.
func into(out, in reflect.Value) {
	switch in.Kind() {
	case reflect.Pointer:
		if !in.IsNil() {
			out.Set(reflect.New(in.Type().Elem()))
			into(out.Elem(), in.Elem())
		}
	case reflect.Slice:
		if !in.IsNil() {
			out.Set(reflect.MakeSlice(in.Type(), in.Len(), in.Len()))
			for i := range in.Len() {
				into(out.Index(i), in.Index(i))
			}
		}
	case reflect.Map:
		if !in.IsNil() {
			out.Set(reflect.MakeMapWithSize(in.Type(), in.Len()))
			for entries := in.MapRange(); entries.Next(); {
				value := reflect.New(in.Type().Elem()).Elem()
				into(value, entries.Value())
				out.SetMapIndex(entries.Key(), value)
			}
		}
	case reflect.Struct:
		if !foreign(out, in) {
			for i := range in.NumField() {
				into(out.Field(i), in.Field(i))
			}
		}
	default:
		out.Set(in)
	}
}

// foreign copies a struct of another module that has unexported fields or an interface,
// with its own function.
func foreign(out, in reflect.Value) bool {
	switch to := out.Addr().Interface().(type) {
	case *metav1.ObjectMeta:
		from := in.Interface().(metav1.ObjectMeta)
		from.DeepCopyInto(to)
	case *metav1.Time:
		from := in.Interface().(metav1.Time)
		from.DeepCopyInto(to)
	case *runtime.RawExtension:
		from := in.Interface().(runtime.RawExtension)
		from.DeepCopyInto(to)
	default:
		return false
	}
	return true
}
