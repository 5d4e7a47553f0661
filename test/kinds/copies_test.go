package kinds

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ofTheirModule are the structs that api/deepcopy lets copy themselves.
var ofTheirModule = []reflect.Type{reflect.TypeFor[metav1.ObjectMeta](), reflect.TypeFor[metav1.Time](), reflect.TypeFor[runtime.RawExtension]()}

// uncopied adds the fields below a type that api/deepcopy does not copy.
func uncopied(at string, of reflect.Type, seen map[reflect.Type]bool) (bad []string) {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice:
		return uncopied(at, of.Elem(), seen)
	case reflect.Map:
		return append(uncopied(at+" (key)", of.Key(), seen), uncopied(at, of.Elem(), seen)...)
	case reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return []string{at + " is a " + of.String()}
	case reflect.Struct:
		if seen[of] || slices.Contains(ofTheirModule, of) {
			return nil
		}
		seen[of] = true
		for i := range of.NumField() {
			field := of.Field(i)
			if !field.IsExported() {
				bad = append(bad, at+"."+field.Name+" is not exported")
				continue
			}
			bad = append(bad, uncopied(at+"."+field.Name, field.Type, seen)...)
		}
	}
	return bad
}

// Deep copies share nothing: every field of every kind is one that api/deepcopy copies.
func TestEveryFieldIsCopied(t *testing.T) {
	count := 0
	for gvk, of := range goTypes(t).AllKnownTypes() {
		if !strings.Contains(of.PkgPath(), "axle") {
			continue
		}
		count++
		for _, bad := range uncopied(gvk.Kind, of, map[reflect.Type]bool{}) {
			t.Errorf("%s: api/deepcopy does not copy it", bad)
		}
	}
	if count < 50 {
		t.Errorf("only %d types are kinds and lists", count)
	}
	type broken struct {
		Any  any
		text string
	}
	if bad := uncopied("broken", reflect.TypeFor[broken](), map[reflect.Type]bool{}); len(bad) != 2 {
		t.Errorf("of a type with two such fields, it found %q: %s", bad, broken{}.text)
	}
}
