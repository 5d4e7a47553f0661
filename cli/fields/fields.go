// Package fields turns messages of the hub's API into what axle prints with
// -o json, so that a command prints the message itself and needs no type of its
// own for that.
//
// It knows no message by name: the rules are by kind and name of a field.
// cli/command gives every message that it prints to Of.
//
// Invariants: every field is present, also when it is empty; lists are never
// null. Fields keep the order of the message.
package fields

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/axle-cd/axle/internal/clock"
)

// maxDepth bounds messages in messages that are not set. None of the API is as
// deep.
const maxDepth = 8

// Field is one field.
type Field struct {
	Key   string
	Value any
}

// Object is a JSON object whose keys keep their order.
type Object []Field

// MarshalJSON implements json.Marshaler.
func (o Object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	out.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := to.Encode(f.Key); err != nil {
			return nil, err
		}
		out.WriteByte(':')
		if err := to.Encode(f.Value); err != nil {
			return nil, err
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// With returns the object with one more field at its end.
func (o Object) With(key string, value any) Object { return append(o, Field{key, value}) }

// Stamp formats a time in microseconds; 0 is empty.
func Stamp(micros int64) string {
	if micros == 0 {
		return ""
	}
	return clock.FromMicros(micros).Format(time.RFC3339)
}

// Of returns the fields of a message under their JSON names.
//
// An integer whose name ends with "at" or "since" is a time in microseconds: it
// becomes RFC 3339 text, and the field beside it, with "Age" in place of "At"
// or "Since", is what age says of it. Times of expiry have no age. An integer
// whose name ends with "micros" is a duration, and becomes text such as "1h0m0s"
// without that ending.
func Of(m proto.Message, age func(micros int64) string) Object {
	return reader{age}.object(m.ProtoReflect(), 0)
}

type reader struct{ age func(int64) string }

func (r reader) object(m protoreflect.Message, depth int) Object {
	o := Object{}
	all := m.Descriptor().Fields()
	for i := range all.Len() {
		f := all.Get(i)
		switch key, v := f.JSONName(), m.Get(f); {
		case f.IsMap():
			entries := map[string]any{}
			v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
				entries[k.String()] = r.single(f.MapValue(), v, depth)
				return true
			})
			o = o.With(key, entries)
		case f.IsList():
			items := []any{}
			for i := range v.List().Len() {
				items = append(items, r.single(f, v.List().Get(i), depth))
			}
			o = o.With(key, items)
		case f.Kind() == protoreflect.Int64Kind:
			o = r.number(o, string(f.Name()), key, v.Int())
		default:
			o = o.With(key, r.single(f, v, depth))
		}
	}
	return o
}

// number adds an integer, which may be a time or a duration.
func (r reader) number(o Object, name, key string, n int64) Object {
	for _, ending := range []string{"at", "since"} {
		if name != ending && !strings.HasSuffix(name, "_"+ending) {
			continue
		}
		o = o.With(key, Stamp(n))
		if strings.Contains(name, "expires") {
			return o
		}
		if stem := key[:len(key)-len(ending)]; stem != "" {
			return o.With(stem+"Age", r.age(n))
		}
		return o.With("age", r.age(n))
	}
	if stem, ok := strings.CutSuffix(key, "Micros"); ok {
		return o.With(stem, (time.Duration(n) * time.Microsecond).String())
	}
	return o.With(key, n)
}

// single is one value that is no list and no map.
func (r reader) single(f protoreflect.FieldDescriptor, v protoreflect.Value, depth int) any {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		if depth >= maxDepth {
			return nil
		}
		return r.object(v.Message(), depth+1)
	case protoreflect.EnumKind:
		if value := f.Enum().Values().ByNumber(v.Enum()); value != nil {
			return string(value.Name())
		}
		return int32(v.Enum())
	}
	return v.Interface()
}
