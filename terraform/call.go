package terraform

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/sdk"
)

// call is one call of the hub's API, by messages.
type call struct {
	in, out proto.Message
	method  string
	do      func(ctx context.Context, c *sdk.Client, request proto.Message) (proto.Message, error)
}

// via is the call of a method such as "Projects/Get".
func via(method string) *call {
	m := hubv1.MethodNamed(method)
	return &call{in: sdk.NewMessage(m.Input()), out: sdk.NewMessage(m.Output()), method: method, do: func(ctx context.Context, c *sdk.Client, request proto.Message) (proto.Message, error) {
		answer, err := c.Call(ctx, method, request)
		if err != nil {
			return nil, sdk.Error(err, c.URL)
		}
		return answer, nil
	}}
}

// request is a new, empty request.
func (c *call) request() proto.Message { return c.in.ProtoReflect().New().Interface() }

// all reads all pages of a list.
func (c *call) all(ctx context.Context, client *sdk.Client, request proto.Message) ([]proto.Message, error) {
	rows, err := client.All(ctx, c.method, request)
	if err != nil {
		return nil, sdk.Error(err, client.URL)
	}
	return rows, nil
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
