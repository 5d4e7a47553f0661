package tunnel

import (
	"context"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// Stream is one request to a cluster: the head went with Open, then raw bytes
// go in each direction. Reading and writing may go on at once, from one
// goroutine each. Close must be called.
type Stream struct {
	flow *flow
}

// Write sends a part of the request's body. It blocks while the cluster does
// not read. It is an error for a head that says that there is no body: length
// 0 and no upgrade.
func (s *Stream) Write(p []byte) (int, error) { return s.flow.write(p) }

// CloseWrite ends the request's body; the answer goes on.
func (s *Stream) CloseWrite() error { return s.flow.closeWrite() }

// Answer waits for the head of the answer. It is called once, before Read.
// The error is Unavailable when the tunnel broke or the agent said nothing.
func (s *Stream) Answer(ctx context.Context) (*agentv1.StreamAnswer, error) {
	return s.flow.answer(ctx)
}

// Read reads the answer's body. io.EOF is its end; an answer that breaks off
// is an Unavailable error that says why.
func (s *Stream) Read(p []byte) (int, error) { return s.flow.read(p) }

// ReadNow is Read of what came together with the answer's head, and waits for
// nothing: no bytes do not say that none come. It is for upgraded streams, whose
// first bytes are often there.
func (s *Stream) ReadNow(p []byte) (int, error) { return s.flow.readNow(p), nil }

// Close gives the stream up: what is under way is cut off at both ends. After
// the end of both bodies it only gives resources back. More calls do nothing.
func (s *Stream) Close() error {
	s.flow.close()
	return nil
}

// Context ends with the stream, whoever ended it, and its cause says why. A
// caller that is blocked in a write to a client which does not read is not in
// Read, and hears only so that the stream was closed for that: it should then
// cut its client off.
func (s *Stream) Context() context.Context { return s.flow.ctx }
