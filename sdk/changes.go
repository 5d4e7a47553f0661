package sdk

import (
	"cmp"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Changing is a declaration as the request of a method that changes the object: the fields
// of the same names.
func Changing(declaration proto.Message, of protoreflect.MessageDescriptor) proto.Message {
	from := proto.Clone(declaration).ProtoReflect()
	if from.Descriptor() == of {
		return declaration
	}
	request := NewMessage(of)
	into := request.ProtoReflect()
	for i := range of.Fields().Len() {
		f := of.Fields().Get(i)
		from, given := givenAs(from, f.Name())
		if given == nil || given.Kind() != f.Kind() || given.Cardinality() != f.Cardinality() {
			continue
		}
		// What is not given stays as it is, if the method can leave it, unless it has a default.
		rule := Described(given)
		standard, _ := rule.Default.(string)
		if from.Has(given) || f.HasOptionalKeyword() && !rule.Secret {
			into.Set(f, from.Get(given))
		} else if standard = cmp.Or(standard, Text(declaration, rule.SameAs)); standard != "" {
			into.Set(f, protoreflect.ValueOfString(standard))
		}
	}
	Complete(request)
	return request
}

// givenAs is the field of a name of a declaration, or of a message that stands in it flat.
func givenAs(m protoreflect.Message, name protoreflect.Name) (protoreflect.Message, protoreflect.FieldDescriptor) {
	if f := m.Descriptor().Fields().ByName(name); f != nil {
		return m, f
	}
	for i := range m.Descriptor().Fields().Len() {
		if f := m.Descriptor().Fields().Get(i); Described(f).Flat && m.Has(f) {
			if in := f.Message().Fields().ByName(name); in != nil {
				return m.Get(f).Message(), in
			}
		}
	}
	return m, nil
}

// Complete fills in what the request of a change says about the change itself, by the
// descriptions of its fields: which fields it sets, and that it has no project.
func Complete(request proto.Message) {
	m := request.ProtoReflect()
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		rule := Described(f)
		switch {
		case rule.Mask:
			m.Set(f, protoreflect.ValueOfList(maskOf(m, m.NewField(f).List())))
		case rule.Lacks != "":
			m.Set(f, protoreflect.ValueOfBool(lacks(m, rule.Lacks)))
		case rule.Whole && !m.Has(f):
			m.Set(f, m.NewField(f))
		case f.Kind() == protoreflect.BoolKind && !f.HasPresence() && rule.Default == true:
			m.Set(f, protoreflect.ValueOfBool(true))
		}
	}
}

// maskOf adds the names of the fields that can change in the messages of a request, and
// empties those that cannot, but for the name.
func maskOf(m protoreflect.Message, to protoreflect.List) protoreflect.List {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Message() == nil || f.IsList() || f.IsMap() || f.Name() == "management" {
			return true
		}
		for i := range f.Message().Fields().Len() {
			switch one := f.Message().Fields().Get(i); {
			case !Described(one).Skip && !Described(one).Immutable:
				to.Append(protoreflect.ValueOfString(string(one.Name())))
			case Described(one).Immutable && one.Name() != "name":
				v.Message().Clear(one)
			}
		}
		return true
	})
	return to
}

// lacks reports whether no message of a request has a text of that name.
func lacks(m protoreflect.Message, name string) (none bool) {
	none = true
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Message() != nil && !f.IsList() && !f.IsMap() {
			none = none && Text(v.Message().Interface(), name) == ""
		}
		return true
	})
	return none
}
