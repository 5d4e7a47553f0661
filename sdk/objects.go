package sdk

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/internal/errcode"
)

// Objects are the calls for the objects of one kind, by the kind's description. Requests
// and answers have their generated types.
type Objects struct {
	client *Client
	kind   object.Kind
}

// Objects returns the calls for a kind, and whether its description has them.
func (c *Client) Objects(kind string) (Objects, bool) {
	k, ok := object.Named(kind)
	return Objects{c, k}, ok && k.Calls.Service != ""
}

// Get returns an object by its name. Without a method that reads one it looks in the list.
func (o Objects) Get(ctx context.Context, name string) (proto.Message, error) {
	if o.kind.Calls.Get == "" {
		all, err := o.List(ctx, o.named(o.kind.Calls.List, name))
		for _, one := range all {
			if Text(one, o.kind.Calls.Names()) == name {
				return one, err
			}
		}
		if err == nil {
			err = errcode.New(errcode.NotFound, "%s %.80q does not exist", o.kind.Name, name)
		}
		return nil, err
	}
	return o.client.Call(ctx, o.kind.Calls.Path(o.kind.Calls.Get), o.named(o.kind.Calls.Get, name))
}

// List returns the objects that a request of the list selects, from all pages; nil is all.
func (o Objects) List(ctx context.Context, request proto.Message) ([]proto.Message, error) {
	return o.client.All(ctx, o.kind.Calls.Path(o.kind.Calls.List), request)
}

// Write creates an object, or changes one that exists if update is set; both are one
// method where the hub has one for them. The request declares the object: that of a method
// with another one is made from it. It returns the object and, of methods that give one,
// the result: created, updated or unchanged.
func (o Objects) Write(ctx context.Context, request proto.Message, update bool) (proto.Message, string, error) {
	method := o.kind.Calls.Create
	if update {
		method = o.kind.Calls.Update
		request = Changing(request, hubv1.MethodNamed(o.kind.Calls.Path(method)).Input())
	}
	answer, err := o.client.Call(ctx, o.kind.Calls.Path(method), request)
	if err != nil {
		return nil, "", err
	}
	return Single(answer, o.New()), Text(answer, "result"), nil
}

// Delete deletes an object by its name.
func (o Objects) Delete(ctx context.Context, name string, management *hubv1.Management) error {
	request := o.named(o.kind.Calls.Delete, name)
	SetManagement(request, management)
	_, err := o.client.Call(ctx, o.kind.Calls.Path(o.kind.Calls.Delete), request)
	return err
}

// New is an empty object as the hub's answers have it.
func (o Objects) New() proto.Message {
	return NewMessage(Rows(hubv1.MethodNamed(o.kind.Calls.Path(o.kind.Calls.List)).Output()).Message())
}

// OfTool returns the objects of a kind, and of one whose list can be asked for that only those
// that a tool manages.
func (o Objects) OfTool(ctx context.Context, tool string) ([]proto.Message, error) {
	request := NewMessage(hubv1.MethodNamed(o.kind.Calls.Path(o.kind.Calls.List)).Input())
	Set(request, "managed_by_tool", protoreflect.ValueOfString(tool))
	return o.List(ctx, request)
}

// Managed returns the objects that a manager has.
func (o Objects) Managed(ctx context.Context, by *hubv1.Manager) (some []proto.Message, _ error) {
	all, err := o.OfTool(ctx, by.GetTool())
	for _, one := range all {
		if proto.Equal(ManagedBy(one), by) {
			some = append(some, one)
		}
	}
	return some, err
}

// named is a request of a method for the object of a name, of a list without a name one for
// all.
func (o Objects) named(method, name string) proto.Message {
	request := NewMessage(hubv1.MethodNamed(o.kind.Calls.Path(method)).Input())
	Set(request, protoreflect.Name(o.kind.Calls.Names()), protoreflect.ValueOfString(name))
	return request
}

// Single is the object of a type in an answer: the answer itself, or the field of its type.
func Single(answer, object proto.Message) proto.Message {
	want, m := object.ProtoReflect().Descriptor(), answer.ProtoReflect()
	if m.Descriptor() == want {
		return answer
	}
	for i := range m.Descriptor().Fields().Len() {
		if f := m.Descriptor().Fields().Get(i); !f.IsList() && f.Message() == want {
			return m.Get(f).Message().Interface()
		}
	}
	return nil
}

var described = object.Described()

// Described is what the descriptions of kinds have about a field of a message.
func Described(f protoreflect.FieldDescriptor) object.Field {
	return described[string(f.Parent().Name())+"."+string(f.Name())]
}

// Rows is the field of an answer with its list, nil for none.
func Rows(answer protoreflect.MessageDescriptor) protoreflect.FieldDescriptor {
	for i := range answer.Fields().Len() {
		if f := answer.Fields().Get(i); f.IsList() && f.Message() != nil {
			return f
		}
	}
	return nil
}

// Text is a text of a message, empty if it has none of that name.
func Text(m proto.Message, name string) string {
	f := m.ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(name))
	if f == nil || f.Kind() != protoreflect.StringKind || f.IsList() {
		return ""
	}
	return m.ProtoReflect().Get(f).String()
}

// ManagedBy is who manages an object; nil is nobody.
func ManagedBy(m proto.Message) *hubv1.Manager {
	owned, _ := m.(interface{ GetManagedBy() *hubv1.Manager })
	if owned == nil {
		return nil
	}
	return owned.GetManagedBy()
}

// SetManagement sets who writes in a request, if it has a field for that.
func SetManagement(request proto.Message, m *hubv1.Management) {
	if m != nil {
		Set(request, "management", protoreflect.ValueOfMessage(proto.CloneOf(m).ProtoReflect()))
	}
}

// Set sets a field of a message, and reports whether it has one of that name.
func Set(m proto.Message, name protoreflect.Name, v protoreflect.Value) bool {
	f := m.ProtoReflect().Descriptor().Fields().ByName(name)
	if f != nil {
		m.ProtoReflect().Set(f, v)
	}
	return f != nil
}
