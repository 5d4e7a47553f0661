package tunnel

import (
	"context"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// Stream is one request to a cluster: Open sent the head, then raw bytes go in
// each direction. One goroutine may read while another writes. Close must be
// called.
type Stream struct {
	flow *flow
}

// Write sends a part of the request's body. It blocks while the cluster does
// not read. It is an error for a head that announced no body: length 0 and no
// upgrade.
func (s *Stream) Write(p []byte) (int, error) { return s.flow.write(p) }

// CloseWrite ends the request's body; the answer continues.
func (s *Stream) CloseWrite() error { return s.flow.closeWrite() }

// Answer waits for the head of the answer. It is called once, before Read. The
// error is Unavailable when the tunnel broke or the agent did not answer.
func (s *Stream) Answer(ctx context.Context) (*agentv1.StreamAnswer, error) {
	return s.flow.answer(ctx)
}

// Read reads the answer's body. io.EOF is its end; an answer that breaks off is
// an Unavailable error with the reason.
func (s *Stream) Read(p []byte) (int, error) { return s.flow.read(p) }

// ReadNow returns what arrived together with the answer's head, without
// waiting: 0 bytes do not mean that none will come. It is for upgraded streams,
// whose first bytes are often there.
func (s *Stream) ReadNow(p []byte) (int, error) { return s.flow.readNow(p), nil }

// Close ends the stream and cuts off what is running at both ends. After the
// end of both bodies it only releases resources. Further calls do nothing.
func (s *Stream) Close() error {
	s.flow.close()
	return nil
}

// Context ends with the stream, whoever ended it, and its cause says why. A
// caller that is blocked in a write to a client which does not read learns only
// through it that the stream was closed for that reason; it should then cut its
// client off.
func (s *Stream) Context() context.Context { return s.flow.ctx }
