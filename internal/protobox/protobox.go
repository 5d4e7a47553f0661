// Package protobox lets one function of Go call and serve the methods of many services: a
// Box is a message whose type is known when the call is made, and Connect encodes it like
// any other one. The SDK calls with it, and the hub serves the kinds that have no handler of
// their own; both do so by names of descriptions.
//
// It sends nothing and knows no service. A message in a Box has its generated type when that
// is linked.
package protobox

import (
	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Box holds a message.
type Box struct{ proto.Message }

// Held is the message of a box; what is no box stays.
func Held(message any) any {
	if b, ok := message.(*Box); ok {
		return b.Message
	}
	return message
}

// New is an empty message of the generated type.
func New(of protoreflect.MessageDescriptor) proto.Message {
	t, err := protoregistry.GlobalTypes.FindMessageByName(of.FullName())
	if err != nil {
		return dynamicpb.NewMessage(of)
	}
	return t.New().Interface()
}

// Fill returns an initializer that puts an empty message into each box.
func Fill(of protoreflect.MessageDescriptor) func(connect.Spec, any) error {
	return func(_ connect.Spec, message any) error {
		message.(*Box).Message = New(of)
		return nil
	}
}
