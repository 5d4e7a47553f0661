// Package convert copies between the forms of a service's spec: the structs of
// api/spec/v1, the messages of the APIs and the ServiceDeployment kind.
//
// Two fields belong together when they have the same JSON name, at any depth. A field
// without a counterpart of a type that fits is left out; the tests of each use of this
// package list what is left out on purpose (converttest.Lost). A field that is zero or
// an empty list or map is not copied. Nothing of the source is shared with the copy.
//
// It knows no form: api/spec/kind, hub/console, hub/fleet and api/agent/v1 say which
// fields have another name.
package convert

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Form says how one form differs from the other. The zero value means not at all.
type Form struct {
	// Renamed gives fields of the source another JSON name; empty leaves the field
	// out. Keys are "Struct.jsonName".
	Renamed map[string]string
	// Texts turns values of these types of the source into text.
	Texts map[reflect.Type]func(any) string
	// Objects turns text into values of these types of the destination, the inverse
	// of Texts.
	Objects map[reflect.Type]func(string) any
	// Tag copies only fields of the source that have this struct tag; empty is all.
	Tag string
}

// Copy copies a struct into the one that dst points to.
func Copy(dst, src any) { Form{}.Copy(dst, src) }

// Copy copies a struct into the one that dst points to.
func (f Form) Copy(dst, src any) {
	f.structs(reflect.ValueOf(dst).Elem(), reflect.Indirect(reflect.ValueOf(src)))
}

func (f Form) structs(dst, src reflect.Value) {
	into := layoutOf(dst.Type()).index
	for _, from := range layoutOf(src.Type()).fields {
		value := src.FieldByIndex(from.index)
		if isEmpty(value) {
			continue
		}
		name, renamed := f.Renamed[from.key]
		if !renamed {
			name = from.name
		}
		at, exists := into[name]
		if exists && (f.Tag == "" || from.tag.Get(f.Tag) != "") {
			f.value(dst.FieldByIndex(at), value)
		}
	}
}

func (f Form) value(dst, src reflect.Value) {
	if src.Kind() == reflect.Pointer {
		if src.IsNil() {
			return
		}
		src = src.Elem()
	}
	if dst.Kind() == reflect.Pointer {
		dst.Set(reflect.New(dst.Type().Elem()))
		dst = dst.Elem()
	}
	if text := f.Texts[src.Type()]; text != nil && dst.Kind() == reflect.String {
		dst.SetString(text(src.Interface()))
		return
	}
	if object := f.Objects[dst.Type()]; object != nil && src.Kind() == reflect.String {
		dst.Set(reflect.ValueOf(object(src.String())))
		return
	}
	switch from := src.Kind(); {
	case from != dst.Kind():
	case from == reflect.Struct:
		f.structs(dst, src)
	case from == reflect.Slice:
		f.list(dst, src)
	case from == reflect.Map:
		f.table(dst, src)
	case src.Type() == dst.Type():
		dst.Set(src)
	}
}

func (f Form) list(dst, src reflect.Value) {
	if texts, ok := src.Interface().([]string); ok && dst.Type() == src.Type() {
		dst.Set(reflect.ValueOf(slices.Clone(texts)))
		return
	}
	dst.Set(reflect.MakeSlice(dst.Type(), src.Len(), src.Len()))
	for i := range src.Len() {
		f.value(dst.Index(i), src.Index(i))
	}
}

func (f Form) table(dst, src reflect.Value) {
	if texts, ok := src.Interface().(map[string]string); ok && dst.Type() == src.Type() {
		dst.Set(reflect.ValueOf(maps.Clone(texts)))
		return
	}
	dst.Set(reflect.MakeMapWithSize(dst.Type(), src.Len()))
	for key, value := range src.Seq2() {
		one := reflect.New(dst.Type().Elem()).Elem()
		f.value(one, value)
		dst.SetMapIndex(key, one)
	}
}

func isEmpty(v reflect.Value) bool {
	return v.IsZero() || (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0
}

// layout is what a struct type has.
type layout struct {
	fields []field
	// index finds a field by its JSON name.
	index map[string][]int
}

type field struct {
	index     []int
	name, key string
	tag       reflect.StructTag
}

var layouts sync.Map // reflect.Type: layout

func layoutOf(t reflect.Type) layout {
	if known, ok := layouts.Load(t); ok {
		return known.(layout)
	}
	l := layout{index: map[string][]int{}}
	l.add(t, nil)
	layouts.Store(t, l)
	return l
}

// add adds the fields of a struct; those of an inlined one are fields of the
// outer one.
func (l *layout) add(t reflect.Type, above []int) {
	for i := range t.NumField() {
		index := append(slices.Clone(above), i)
		if Inlined(t.Field(i)) {
			l.add(t.Field(i).Type, index)
		} else if name := Name(t.Field(i)); name != "" {
			l.fields = append(l.fields, field{index: index, name: name, key: t.Name() + "." + name, tag: t.Field(i).Tag})
			l.index[name] = index
		}
	}
}

// Inlined reports whether the fields of a field are fields of its struct, as
// encoding/json has it.
func Inlined(f reflect.StructField) bool {
	return f.Anonymous && f.Type.Kind() == reflect.Struct && Name(f) == ""
}

// Name returns the JSON name of a field of a struct or of a message, empty for a field
// that is not part of the form.
func Name(f reflect.StructField) string {
	if !f.IsExported() {
		return ""
	}
	message, isMessage := f.Tag.Lookup("protobuf")
	if !isMessage {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return strings.TrimPrefix(name, "-")
	}
	name := ""
	for part := range strings.SplitSeq(message, ",") {
		if own, ok := strings.CutPrefix(part, "name="); ok {
			name = own
		}
		if json, ok := strings.CutPrefix(part, "json="); ok {
			return json
		}
	}
	return name
}
