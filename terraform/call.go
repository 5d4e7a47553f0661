package terraform

import (
	"context"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/sdk"
)

// call is one call of the hub's API, by messages.
type call struct {
	in, out proto.Message
	do      func(ctx context.Context, c *sdk.Client, request proto.Message) (proto.Message, error)
}

// via makes a call of a method of one of the client's services.
func via[S, Q, R any](service func(*sdk.Client) S, method func(S, context.Context, *connect.Request[Q]) (*connect.Response[R], error)) *call {
	return &call{in: any(new(Q)).(proto.Message), out: any(new(R)).(proto.Message), do: func(ctx context.Context, c *sdk.Client, request proto.Message) (proto.Message, error) {
		answer, err := method(service(c), ctx, connect.NewRequest(any(request).(*Q)))
		if err != nil {
			return nil, sdk.Error(err, c.URL)
		}
		return any(answer.Msg).(proto.Message), nil
	}}
}

// request is a new, empty request.
func (c *call) request() proto.Message { return c.in.ProtoReflect().New().Interface() }

// setManagement says in a request who writes.
func setManagement(request proto.Message, m *hubv1.Management) {
	r := request.ProtoReflect()
	if f := r.Descriptor().Fields().ByName("management"); f != nil {
		r.Set(f, protoreflect.ValueOfMessage(proto.CloneOf(m).ProtoReflect()))
	}
}

// setField sets a scalar of a request, if it has the field.
func setField(request proto.Message, name protoreflect.Name, v protoreflect.Value) bool {
	r := request.ProtoReflect()
	f := r.Descriptor().Fields().ByName(name)
	if f != nil {
		r.Set(f, v)
	}
	return f != nil
}

// single returns the object in an answer: the answer itself, or the field of its type.
func single(answer, object proto.Message) proto.Message {
	want := object.ProtoReflect().Descriptor()
	m := answer.ProtoReflect()
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

// rowsField is the field of an answer with its list.
func rowsField(answer protoreflect.MessageDescriptor) protoreflect.FieldDescriptor {
	for i := range answer.Fields().Len() {
		if f := answer.Fields().Get(i); f.IsList() && f.Message() != nil {
			return f
		}
	}
	return nil
}

// pageSize is what lists with pages are asked for.
const pageSize = 500

// all reads all pages of a list.
func (c *call) all(ctx context.Context, client *sdk.Client, request proto.Message) (rows []proto.Message, _ error) {
	setField(request, "page_size", protoreflect.ValueOfInt32(pageSize))
	for {
		answer, err := c.do(ctx, client, request)
		if err != nil {
			return nil, err
		}
		m := answer.ProtoReflect()
		list := m.Get(rowsField(m.Descriptor())).List()
		for i := range list.Len() {
			rows = append(rows, list.Get(i).Message().Interface())
		}
		next := m.Descriptor().Fields().ByName("next_page_token")
		if next == nil || m.Get(next).String() == "" {
			return rows, nil
		}
		setField(request, "page_token", m.Get(next))
	}
}

// textField is a text of a message, empty if it has none.
func textField(m proto.Message, name protoreflect.Name) string {
	f := m.ProtoReflect().Descriptor().Fields().ByName(name)
	if f == nil || f.Kind() != protoreflect.StringKind || f.IsList() {
		return ""
	}
	return m.ProtoReflect().Get(f).String()
}

// managerOf is who manages an object; nil is nobody.
func managerOf(m proto.Message, field protoreflect.Name) *hubv1.Manager {
	f := m.ProtoReflect().Descriptor().Fields().ByName(field)
	if f == nil || !m.ProtoReflect().Has(f) {
		return nil
	}
	by, _ := m.ProtoReflect().Get(f).Message().Interface().(*hubv1.Manager)
	return by
}
