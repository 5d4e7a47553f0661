package shape

import (
	"encoding/json"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/axle-cd/axle/internal/email"
	"github.com/axle-cd/axle/internal/errcode"
)

// Values are those of one object. Secrets come from Config. State is nil for an object
// that is new.
type Values struct{ Plan, Config, State map[string]tftypes.Value }

// Fields returns the attributes of an object, nil for null and unknown.
func Fields(v tftypes.Value) map[string]tftypes.Value {
	var out map[string]tftypes.Value
	if v.IsNull() || !v.IsKnown() || v.As(&out) != nil {
		return nil
	}
	return out
}

// With returns an object with another value of one attribute.
func With(object tftypes.Value, name string, v tftypes.Value) tftypes.Value {
	fields := Fields(object)
	fields[name] = v
	return tftypes.NewValue(object.Type(), fields)
}

// IsSet reports whether a value is there, and known.
func IsSet(v tftypes.Value) bool { return v.Type() != nil && !v.IsNull() && v.IsKnown() }

// TextOf returns a text, empty for none.
func TextOf(v tftypes.Value) (s string) {
	if IsSet(v) {
		_ = v.As(&s)
	}
	return s
}

// sends reports whether a secret is to be sent: that of a new object, and one whose
// version changed.
func (v Values) sends(n *Node) bool {
	version := n.Name + "_version"
	return v.State == nil || !v.Plan[version].Equal(v.State[version])
}

// Fill sets the fields of a message. Attributes without a field in it are left out.
func Fill(m protoreflect.Message, all []*Node, v Values) error {
	for _, n := range all {
		from := v.Plan
		if n.WriteOnly {
			from = v.Config
		}
		value, ok := from[n.Name]
		if !ok || !IsSet(value) || n.VersionOf != "" {
			continue
		}
		into, f := n.descend(m, true)
		if f == nil || n.ReadOnly {
			continue
		}
		keysOnly := false
		if n.Secret && !v.sends(n) {
			if n.Kind != Map {
				continue
			}
			keysOnly = true
		}
		if err := n.set(into, f, value, v, keysOnly); err != nil {
			return err
		}
	}
	return nil
}

// Has reports whether a message has a field for the attribute.
func (n *Node) Has(m protoreflect.MessageDescriptor) bool {
	_, f := n.descend(dynamicpb.NewMessage(m), true)
	return f != nil
}

// descend returns the message and the field that the node's path leads to. Where the
// message has no such path, it is the field of the last name, or of the other one:
// requests and answers nest differently.
func (n *Node) descend(m protoreflect.Message, create bool) (protoreflect.Message, protoreflect.FieldDescriptor) {
	at, path := m, n.Path
	for i, name := range path {
		f := at.Descriptor().Fields().ByName(name)
		if f == nil {
			break
		}
		if i == len(path)-1 {
			return at, f
		}
		if f.Message() == nil || f.IsList() || f.IsMap() {
			break
		}
		if create {
			at = at.Mutable(f).Message()
		} else {
			at = at.Get(f).Message()
		}
	}
	if len(path) == 0 {
		return nil, nil
	}
	if f := m.Descriptor().Fields().ByName(path[len(path)-1]); f != nil {
		return m, f
	}
	other := n.Other
	for {
		name, rest, below := strings.Cut(other, ".")
		f := m.Descriptor().Fields().ByName(protoreflect.Name(name))
		if f == nil || !below {
			return m, f
		}
		m, other = m.Get(f).Message(), rest // only answers have these: they are read
	}
}

func (n *Node) set(m protoreflect.Message, f protoreflect.FieldDescriptor, value tftypes.Value, v Values, keysOnly bool) error {
	switch n.Kind {
	case List, Set, Objects:
		return n.setList(m.Mutable(f).List(), f, value, v)
	case Map, ObjectMap:
		return n.setMap(m.Mutable(f).Map(), f, value, v, keysOnly)
	case Object:
		return Fill(m.Mutable(f).Message(), n.Children, n.below(value, v, nil))
	}
	x, err := scalarOf(n.Name, n.Kind, f, value)
	if err == nil {
		m.Set(f, x)
	}
	return err
}

func (n *Node) setList(list protoreflect.List, f protoreflect.FieldDescriptor, value tftypes.Value, v Values) error {
	var all []tftypes.Value
	if err := value.As(&all); err != nil {
		return err
	}
	for i, one := range all {
		if n.Kind == Objects {
			err := Fill(list.AppendMutable().Message(), n.Children, n.below(one, v, func(o tftypes.Value) tftypes.Value { return at(o, i) }))
			if err != nil {
				return err
			}
			continue
		}
		x, err := scalarOf(n.Name, n.Elem, f, one)
		if err != nil {
			return err
		}
		list.Append(x)
	}
	return nil
}

func (n *Node) setMap(fields protoreflect.Map, f protoreflect.FieldDescriptor, value tftypes.Value, v Values, keysOnly bool) error {
	for key, one := range Fields(value) {
		x := fields.NewValue()
		var err error
		switch {
		case n.Kind == ObjectMap:
			err = Fill(x.Message(), n.Children, n.below(one, v, func(o tftypes.Value) tftypes.Value { return Fields(o)[key] }))
		case keysOnly:
			x = protoreflect.ValueOfString("")
		default:
			x, err = scalarOf(n.Name, n.Elem, f.MapValue(), one)
		}
		if err != nil {
			return err
		}
		fields.Set(protoreflect.ValueOfString(key).MapKey(), x)
	}
	return nil
}

func at(list tftypes.Value, i int) tftypes.Value {
	var all []tftypes.Value
	if !IsSet(list) || list.As(&all) != nil || i >= len(all) {
		return tftypes.Value{}
	}
	return all[i]
}

// below are the values of an object in this attribute.
func (n *Node) below(value tftypes.Value, v Values, pick func(tftypes.Value) tftypes.Value) Values {
	if pick == nil {
		pick = func(o tftypes.Value) tftypes.Value { return o }
	}
	out := Values{Plan: Fields(value), Config: Fields(value)}
	if n.WriteOnly {
		return out
	}
	out.Config = Fields(pick(v.Config[n.Name]))
	if v.State != nil {
		out.State = Fields(pick(v.State[n.Name]))
	}
	return out
}

func scalarOf(name string, k Kind, f protoreflect.FieldDescriptor, v tftypes.Value) (protoreflect.Value, error) {
	if !IsSet(v) {
		return f.Default(), nil
	}
	switch k {
	case Bool:
		var b bool
		err := v.As(&b)
		return protoreflect.ValueOfBool(b), err
	case Number:
		var number *big.Float
		if err := v.As(&number); err != nil {
			return protoreflect.Value{}, err
		}
		i, accuracy := number.Int64()
		if f.Kind() == protoreflect.Int32Kind {
			if accuracy != big.Exact || int64(int32(i)) != i {
				return protoreflect.Value{}, errcode.New(errcode.Invalid, "%s: %s is too large", name, number.String())
			}
			return protoreflect.ValueOfInt32(int32(i)), nil
		}
		return protoreflect.ValueOfInt64(i), nil
	case Length:
		d, err := time.ParseDuration(TextOf(v))
		if err != nil {
			return protoreflect.Value{}, errcode.New(errcode.Invalid, "%s: %q is not a duration such as 15m", name, TextOf(v))
		}
		return protoreflect.ValueOfInt64(d.Microseconds()), nil
	case Time:
		t, err := time.Parse(time.RFC3339, TextOf(v))
		if err != nil {
			return protoreflect.Value{}, errcode.New(errcode.Invalid, "%s: %q is not a time such as 2026-01-31T00:00:00Z", name, TextOf(v))
		}
		return protoreflect.ValueOfInt64(t.UnixMicro()), nil
	}
	return protoreflect.ValueOfString(TextOf(v)), nil
}

// Read returns the attributes as a message has them. guide are the values that were
// planned, or the state before; what the hub says in other words keeps them.
func Read(m protoreflect.Message, all []*Node, guide map[string]tftypes.Value) map[string]tftypes.Value {
	out := map[string]tftypes.Value{}
	for _, n := range all {
		g, ok := guide[n.Name]
		if !ok || !IsSet(g) {
			g = tftypes.NewValue(n.Type(), nil)
		}
		out[n.Name] = g
		if n.WriteOnly {
			out[n.Name] = tftypes.NewValue(n.Type(), nil)
			continue
		}
		if n.VersionOf != "" {
			continue
		}
		if from, f := n.descend(m, false); f != nil && (!n.Declared || IsSet(g)) {
			out[n.Name] = n.get(from, f, g)
		}
	}
	for _, n := range all {
		if n.SameAs != "" && out[n.Name].IsNull() && Find(all, n.SameAs) != nil {
			out[n.Name] = out[n.SameAs]
		}
	}
	return out
}

func (n *Node) get(m protoreflect.Message, f protoreflect.FieldDescriptor, guide tftypes.Value) tftypes.Value {
	switch n.Kind {
	case List, Set, Objects:
		return n.getList(m.Get(f).List(), guide)
	case Map, ObjectMap:
		return n.getMap(m.Get(f).Map(), guide)
	case Object:
		return n.getObject(m, f, guide)
	}
	if m.Has(f) {
		return n.like(valueOf(n.Kind, m.Get(f)), guide)
	}
	switch {
	case IsSet(guide) && zero(guide):
		return guide
	case n.Default != nil:
		return literal(n.Default)
	}
	return tftypes.NewValue(n.Type(), nil)
}

func (n *Node) getList(list protoreflect.List, guide tftypes.Value) tftypes.Value {
	if list.Len() == 0 && !isEmpty(guide) && !n.Required {
		return tftypes.NewValue(n.Type(), nil)
	}
	values := make([]tftypes.Value, 0, list.Len())
	for i := range list.Len() {
		if n.Kind == Objects {
			values = append(values, tftypes.NewValue(ObjectType(n.Children), Read(list.Get(i).Message(), n.Children, Fields(at(guide, i)))))
			continue
		}
		values = append(values, valueOf(n.Elem, list.Get(i)))
	}
	if n.Kind == Set {
		slices.SortFunc(values, func(a, b tftypes.Value) int { return strings.Compare(a.String(), b.String()) })
		values = slices.CompactFunc(values, tftypes.Value.Equal)
	}
	return tftypes.NewValue(n.Type(), values)
}

func (n *Node) getMap(fields protoreflect.Map, guide tftypes.Value) tftypes.Value {
	if fields.Len() == 0 && !isEmpty(guide) {
		return tftypes.NewValue(n.Type(), nil)
	}
	before := Fields(guide)
	values := map[string]tftypes.Value{}
	fields.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		if n.Kind == ObjectMap {
			values[k.String()] = tftypes.NewValue(ObjectType(n.Children), Read(v.Message(), n.Children, Fields(before[k.String()])))
		} else {
			values[k.String()] = n.like(valueOf(n.Elem, v), before[k.String()])
		}
		return true
	})
	return tftypes.NewValue(n.Type(), values)
}

func (n *Node) getObject(m protoreflect.Message, f protoreflect.FieldDescriptor, guide tftypes.Value) tftypes.Value {
	has := m.Has(f)
	if !IsSet(guide) && (!has || proto.Size(m.Get(f).Message().Interface()) == 0) {
		return tftypes.NewValue(n.Type(), nil)
	}
	values := Read(m.Get(f).Message(), n.Children, Fields(guide))
	if !has && !n.empty(values) {
		// The message is gone, and the defaults of its fields with it.
		return tftypes.NewValue(n.Type(), nil)
	}
	return tftypes.NewValue(n.Type(), values)
}

// empty reports whether an object has nothing but defaults.
func (n *Node) empty(values map[string]tftypes.Value) bool {
	for _, c := range n.Children {
		v := values[c.Name]
		if IsSet(v) && !isEmpty(v) && !zero(v) && (c.Default == nil || !v.Equal(literal(c.Default))) {
			return false
		}
	}
	return true
}

func literal(v any) tftypes.Value {
	switch x := v.(type) {
	case bool:
		return tftypes.NewValue(tftypes.Bool, x)
	case int64:
		return tftypes.NewValue(tftypes.Number, x)
	case string:
		return tftypes.NewValue(tftypes.String, x)
	}
	return tftypes.Value{}
}

// like is the guide if it means the same.
func (n *Node) like(v, guide tftypes.Value) tftypes.Value {
	if !IsSet(guide) || v.Equal(guide) || !v.Type().Is(tftypes.String) {
		return v
	}
	have, want := TextOf(v), TextOf(guide)
	same := strings.TrimSpace(have) == strings.TrimSpace(want) || n.Fold && email.Lower(have) == email.Lower(want)
	switch {
	case n.Kind == Length:
		a, errA := time.ParseDuration(have)
		b, errB := time.ParseDuration(want)
		same = errA == nil && errB == nil && a == b
	case n.JSON:
		same = same || sameJSON(have, want)
	}
	if same {
		return guide
	}
	return v
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

func valueOf(k Kind, v protoreflect.Value) tftypes.Value {
	switch k {
	case Bool:
		return tftypes.NewValue(tftypes.Bool, v.Bool())
	case Number:
		return tftypes.NewValue(tftypes.Number, v.Int())
	case Length:
		return tftypes.NewValue(tftypes.String, duration(time.Duration(v.Int())*time.Microsecond))
	case Time:
		return tftypes.NewValue(tftypes.String, time.UnixMicro(v.Int()).UTC().Format(time.RFC3339))
	}
	return tftypes.NewValue(tftypes.String, v.String())
}

// duration is a duration as people write it.
func duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// isEmpty reports whether a value is a list, set or map without elements.
func isEmpty(v tftypes.Value) bool {
	if !IsSet(v) {
		return false
	}
	var list []tftypes.Value
	if v.As(&list) == nil {
		return len(list) == 0
	}
	var fields map[string]tftypes.Value
	return v.As(&fields) == nil && len(fields) == 0 && !v.Type().Is(tftypes.Object{})
}

// zero reports whether a scalar is that of an unset field.
func zero(v tftypes.Value) bool {
	switch {
	case v.Type().Is(tftypes.String):
		s := TextOf(v)
		d, err := time.ParseDuration(s)
		return s == "" || err == nil && d == 0
	case v.Type().Is(tftypes.Bool):
		var b bool
		return v.As(&b) == nil && !b
	case v.Type().Is(tftypes.Number):
		var f *big.Float
		return v.As(&f) == nil && f.Sign() == 0
	}
	return false
}
