package plain

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Message applies by to every string of a message and its nested messages, with the
// name of its field: values and keys of maps, and lists too. Bytes are left
// unchanged.
func Message(m proto.Message, by func(field, text string) string) {
	if m != nil {
		message(m.ProtoReflect(), by)
	}
}

func message(m protoreflect.Message, by func(field, text string) string) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		name := string(f.Name())
		switch {
		case f.IsMap():
			entries(f, v.Map(), by)
		case f.IsList():
			list := v.List()
			for i := range list.Len() {
				switch f.Kind() {
				case protoreflect.StringKind:
					list.Set(i, protoreflect.ValueOfString(by(name, list.Get(i).String())))
				case protoreflect.MessageKind:
					message(list.Get(i).Message(), by)
				}
			}
		case f.Kind() == protoreflect.StringKind:
			if text := by(name, v.String()); text != v.String() {
				m.Set(f, protoreflect.ValueOfString(text))
			}
		case f.Kind() == protoreflect.MessageKind:
			message(v.Message(), by)
		}
		return true
	})
}

// entries does the same for a map, whose keys may be strings.
func entries(f protoreflect.FieldDescriptor, m protoreflect.Map, by func(field, text string) string) {
	type entry struct {
		key protoreflect.MapKey
		v   protoreflect.Value
	}
	var all []entry
	m.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		all = append(all, entry{k, v})
		return true
	})
	name := string(f.Name())
	for _, e := range all {
		m.Clear(e.key)
		if f.MapKey().Kind() == protoreflect.StringKind {
			e.key = protoreflect.ValueOfString(by(name, e.key.String())).MapKey()
		}
		switch f.MapValue().Kind() {
		case protoreflect.StringKind:
			e.v = protoreflect.ValueOfString(by(name, e.v.String()))
		case protoreflect.MessageKind:
			message(e.v.Message(), by)
		}
		m.Set(e.key, e.v)
	}
}
