package sdk

import (
	"context"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/protobox"
)

// Call calls a method of axle.hub.v1 by its name, such as "Projects/Get". The
// answer has the method's generated type. A request of another type, or a method that
// streams or does not exist, is Internal: the name is no one's input.
func (c *Client) Call(ctx context.Context, method string, request proto.Message) (proto.Message, error) {
	m := hubv1.MethodNamed(method)
	if m == nil || m.IsStreamingClient() || m.IsStreamingServer() || m.Input() != request.ProtoReflect().Descriptor() {
		return nil, errcode.New(errcode.Internal, "%s is no unary method that takes %s", method, request.ProtoReflect().Descriptor().FullName())
	}
	options := append([]connect.ClientOption{
		connect.WithSchema(m), connect.WithResponseInitializer(protobox.Fill(m.Output())),
	}, c.options...)
	client := connect.NewClient[protobox.Box, protobox.Box](c.http, c.URL+"/"+string(m.Parent().FullName())+"/"+string(m.Name()), options...)
	answer, err := client.CallUnary(ctx, connect.NewRequest(&protobox.Box{Message: request}))
	if err != nil {
		return nil, err
	}
	return answer.Msg.Message, nil
}

// Page returns one page of a list, called by its name, and the token of the next page,
// which is empty for the last one. A nil request selects everything.
func (c *Client) Page(ctx context.Context, method string, request proto.Message) (rows []proto.Message, next string, _ error) {
	if m := hubv1.MethodNamed(method); request == nil && m != nil {
		request = NewMessage(m.Input())
	}
	Set(request, "page_size", protoreflect.ValueOfInt32(PageSize))
	answer, err := c.Call(ctx, method, request)
	if err != nil {
		return nil, "", err
	}
	m := answer.ProtoReflect()
	for i, list := 0, m.Get(Rows(m.Descriptor())).List(); i < list.Len(); i++ {
		rows = append(rows, list.Get(i).Message().Interface())
	}
	return rows, Text(answer, "next_page_token"), nil
}

// All returns all pages of a list.
func (c *Client) All(ctx context.Context, method string, request proto.Message) (all []proto.Message, _ error) {
	if m := hubv1.MethodNamed(method); request == nil && m != nil {
		request = NewMessage(m.Input())
	}
	for {
		rows, next, err := c.Page(ctx, method, request)
		if all = append(all, rows...); err != nil || next == "" {
			return all, err
		}
		Set(request, "page_token", protoreflect.ValueOfString(next))
	}
}

// NewMessage is an empty message of the generated type: those of methods are all linked.
func NewMessage(of protoreflect.MessageDescriptor) proto.Message {
	return protobox.New(of)
}
