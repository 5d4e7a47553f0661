package shape

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/protobuf/reflect/protoreflect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/object"
)

// Kind is what a node holds.
type Kind int

// Kinds of nodes. A Length is microseconds in a message and a text such as 15m in
// Terraform, a Time microseconds since 1970 and a text of RFC 3339.
const (
	Text Kind = iota
	Bool
	Number
	Length
	Time
	List
	Set
	Map
	Object
	Objects
	ObjectMap
)

// Node is one attribute.
type Node struct {
	object.Field
	Name string
	Kind Kind
	// Elem is that of a List, Set or Map.
	Elem Kind
	// Children are the attributes of objects.
	Children []*Node
	// Path leads from the message to the field. It is empty for what no message has.
	Path []protoreflect.Name
	// WriteOnly is a Secret and everything below one.
	WriteOnly bool
	// ReadOnly is what the hub says and nobody declares.
	ReadOnly bool
	// VersionOf is the secret attribute that a change of this number sends again.
	VersionOf string
}

// maxDepth bounds messages that contain themselves.
const maxDepth = 8

// Of returns the attributes of a message.
func Of(m protoreflect.MessageDescriptor, rules object.Fields) []*Node {
	return nodes(m, rules, nil, 0)
}

func nodes(m protoreflect.MessageDescriptor, rules object.Fields, path []protoreflect.Name, depth int) (all []*Node) {
	if depth > maxDepth {
		return nil
	}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		rule := rules[string(m.Name())+"."+string(f.Name())]
		here := append(slices.Clone(path), f.Name())
		if rule.Skip || f.Kind() == protoreflect.BytesKind {
			continue
		}
		if rule.Flat {
			all = append(all, nodes(f.Message(), rules, here, depth+1)...)
			continue
		}
		n := node(f, rule, rules, depth)
		n.Path = here
		if n.Text == "" {
			n.Text = hubv1.Comments()[string(m.Name())+"."+string(f.Name())]
		}
		if !n.Secret {
			all = append(all, n)
			continue
		}
		writeOnly(n)
		n.Name += "_wo"
		all = append(all, n, &Node{Name: n.Name + "_version", Kind: Number, VersionOf: n.Name, Field: object.Field{
			Text: fmt.Sprintf("Any number. A change sends `%s` to the hub again.", n.Name),
		}})
	}
	return all
}

func writeOnly(n *Node) {
	n.WriteOnly = true
	for _, c := range n.Children {
		writeOnly(c)
	}
}

func node(f protoreflect.FieldDescriptor, rule object.Field, rules object.Fields, depth int) *Node {
	n := &Node{Field: rule, Name: string(f.Name())}
	switch {
	case f.IsMap() && f.MapValue().Message() != nil:
		n.Kind, n.Children = ObjectMap, nodes(f.MapValue().Message(), rules, nil, depth+1)
	case f.IsMap():
		n.Kind, n.Elem = Map, scalar(f.MapValue())
	case f.IsList() && f.Message() != nil:
		n.Kind, n.Children = Objects, nodes(f.Message(), rules, nil, depth+1)
	case f.IsList() && rule.Set:
		n.Kind, n.Elem = Set, scalar(f)
	case f.IsList():
		n.Kind, n.Elem = List, scalar(f)
	case f.Message() != nil:
		n.Kind, n.Children = Object, nodes(f.Message(), rules, nil, depth+1)
	default:
		n.Kind = scalar(f)
	}
	if n.Kind == Length {
		n.Name = strings.TrimSuffix(n.Name, "_micros")
	}
	if rule.As != "" {
		n.Name = rule.As
	}
	return n
}

func scalar(f protoreflect.FieldDescriptor) Kind {
	name := string(f.Name())
	switch f.Kind() {
	case protoreflect.BoolKind:
		return Bool
	case protoreflect.Int32Kind, protoreflect.Int64Kind, protoreflect.Uint32Kind, protoreflect.Uint64Kind:
		switch {
		case strings.HasSuffix(name, "_micros"):
			return Length
		case strings.HasSuffix(name, "_at") || strings.HasSuffix(name, "_since") || strings.HasSuffix(name, "_until") || name == "at" || name == "since":
			return Time
		}
		return Number
	}
	return Text
}

func scalarType(k Kind) tftypes.Type {
	switch k {
	case Bool:
		return tftypes.Bool
	case Number:
		return tftypes.Number
	}
	return tftypes.String
}

// Type is that of the node's values.
func (n *Node) Type() tftypes.Type {
	switch n.Kind {
	case List:
		return tftypes.List{ElementType: scalarType(n.Elem)}
	case Set:
		return tftypes.Set{ElementType: scalarType(n.Elem)}
	case Map:
		return tftypes.Map{ElementType: scalarType(n.Elem)}
	case Object:
		return ObjectType(n.Children)
	case Objects:
		return tftypes.List{ElementType: ObjectType(n.Children)}
	case ObjectMap:
		return tftypes.Map{ElementType: ObjectType(n.Children)}
	}
	return scalarType(n.Kind)
}

// ObjectType is the type of an object with these attributes.
func ObjectType(all []*Node) tftypes.Object {
	t := tftypes.Object{AttributeTypes: map[string]tftypes.Type{}}
	for _, n := range all {
		t.AttributeTypes[n.Name] = n.Type()
	}
	return t
}

// Find returns the attribute of that name, nil for none.
func Find(all []*Node, name string) *Node {
	for _, n := range all {
		if n.Name == name {
			return n
		}
	}
	return nil
}
