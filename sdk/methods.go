package sdk

import (
	"context"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/axle-cd/axle/internal/errcode"
)

// Call calls a method of axle.hub.v1 by its name, such as "NotificationSinks/Get". The
// answer has the method's generated type. A request of another type, or a method that
// streams or does not exist, is Internal: the name is no one's input.
func (c *Client) Call(ctx context.Context, method string, request proto.Message) (proto.Message, error) {
	m := Method(method)
	if m == nil || m.IsStreamingClient() || m.IsStreamingServer() || m.Input() != request.ProtoReflect().Descriptor() {
		return nil, errcode.New(errcode.Internal, "%s is no unary method that takes %s", method, request.ProtoReflect().Descriptor().FullName())
	}
	options := append([]connect.ClientOption{
		connect.WithCodec(boxes{}), connect.WithSchema(m),
		connect.WithResponseInitializer(func(_ connect.Spec, message any) error {
			message.(*box).Message = newMessage(m.Output())
			return nil
		}),
	}, c.options...)
	client := connect.NewClient[box, box](c.http, c.URL+"/"+string(m.Parent().FullName())+"/"+string(m.Name()), options...)
	answer, err := client.CallUnary(ctx, connect.NewRequest(&box{request}))
	if err != nil {
		return nil, err
	}
	return answer.Msg.Message, nil
}

// Method returns the method of axle.hub.v1 of a name such as "NotificationSinks/Get", nil
// for none.
func Method(name string) protoreflect.MethodDescriptor {
	full := protoreflect.FullName("axle.hub.v1." + strings.ReplaceAll(name, "/", "."))
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(full)
	if err != nil {
		return nil
	}
	m, _ := found.(protoreflect.MethodDescriptor)
	return m
}

// newMessage is an empty message of the generated type: those of methods are all linked.
func newMessage(of protoreflect.MessageDescriptor) proto.Message {
	t, err := protoregistry.GlobalTypes.FindMessageByName(of.FullName())
	if err != nil {
		return dynamicpb.NewMessage(of)
	}
	return t.New().Interface()
}

// box holds a message whose type is known when it is called.
type box struct{ proto.Message }

// boxes is the codec of protobuf for messages in boxes.
type boxes struct{}

// Name implements connect.Codec.
func (boxes) Name() string { return "proto" }

// Marshal implements connect.Codec.
func (boxes) Marshal(message any) ([]byte, error) { return proto.Marshal(message.(*box).Message) }

// Unmarshal implements connect.Codec.
func (boxes) Unmarshal(data []byte, message any) error {
	return proto.Unmarshal(data, message.(*box).Message)
}
