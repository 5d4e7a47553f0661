package console

import (
	"context"

	"connectrpc.com/connect"

	"github.com/axle-cd/axle/internal/errcode"
)

// admission authorizes calls: unary ones, and streams, whose first message says
// which object they are about.
type admission struct{ *Server }

var _ connect.Interceptor = admission{}

// WrapUnary implements connect.Interceptor.
func (a admission) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc { return a.admit(next) }

// WrapStreamingClient implements connect.Interceptor.
func (a admission) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler implements connect.Interceptor. A stream's handler runs
// once the caller is authenticated, and receives a message only after the
// access to its object was checked.
func (a admission) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, stream connect.StreamingHandlerConn) error {
		procedure := stream.Spec().Procedure
		if err := a.known(ctx, procedure); err != nil {
			return a.outward(ctx, procedure, err)
		}
		if access[procedure] != open {
			stream = &admitted{StreamingHandlerConn: stream, allow: func(message any) error {
				return a.allow(ctx, caller(ctx), procedure, message)
			}}
		}
		if err := next(ctx, stream); err != nil {
			return a.outward(ctx, procedure, err)
		}
		return nil
	}
}

// admitted is a stream that checks each message; after a refusal it passes no
// further message on.
type admitted struct {
	connect.StreamingHandlerConn
	allow   func(message any) error
	refused error
	looked  bool
}

// Receive implements connect.StreamingHandlerConn.
func (s *admitted) Receive(message any) error {
	if s.refused != nil {
		return s.refused
	}
	if err := s.StreamingHandlerConn.Receive(message); err != nil {
		return err
	}
	s.looked, s.refused = true, s.allow(message)
	return s.refused
}

// Send implements connect.StreamingHandlerConn. It sends nothing before the
// caller was authorized.
func (s *admitted) Send(message any) error {
	if s.refused != nil {
		return s.refused
	}
	if !s.looked {
		return errcode.New(errcode.Forbidden, "the call answers before its first message was authorized")
	}
	return s.StreamingHandlerConn.Send(message)
}
