package tunnel

import (
	"context"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// Stream is one request to a cluster: the head went with Open, then raw bytes
// go in each direction. Reading and writing may go on at once, from one
// goroutine each. Close must be called.
type Stream struct {
	wire
}

// wire is a stream of a connection here, or of one at another replica.
type wire interface {
	Write(p []byte) (int, error)
	CloseWrite() error
	Answer(ctx context.Context) (*agentv1.StreamAnswer, error)
	Read(p []byte) (int, error)
	Close() error
}

// Write sends a part of the request's body. It blocks while the cluster does
// not read.
func (s *Stream) Write(p []byte) (int, error) { return s.wire.Write(p) }

// CloseWrite ends the request's body; the answer goes on. A request without a
// body calls it at once.
func (s *Stream) CloseWrite() error { return s.wire.CloseWrite() }

// Answer waits for the head of the answer. It is called once, before Read.
// The error is Unavailable when the tunnel broke or the agent said nothing.
func (s *Stream) Answer(ctx context.Context) (*agentv1.StreamAnswer, error) {
	return s.wire.Answer(ctx)
}

// Read reads the answer's body. io.EOF is its end; an answer that breaks off
// is an Unavailable error that says why.
func (s *Stream) Read(p []byte) (int, error) { return s.wire.Read(p) }

// Close gives the stream up: what is under way is cut off at both ends. After
// the end of both bodies it only gives resources back. More calls do nothing.
func (s *Stream) Close() error { return s.wire.Close() }
