package tunnel

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/http"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/frame"
)

const (
	// streamPath is where the hub opens streams.
	streamPath = "/stream"
	// maxHead bounds a stream's head: that of a request of a megabyte, as API servers
	// take it.
	maxHead = 1<<20 + 64<<10
	// failureTrailer carries the reason why an answer was interrupted.
	failureTrailer = "Axle-Failure"
	// headHeader carries the head of a request without a body.
	headHeader = "Axle-Head"
)

// Handler serves streams, each in its own goroutine. It returns when the stream is
// done; ctx ends when the hub gives up or the connection ends.
type Handler interface {
	ServeStream(ctx context.Context, s *Stream)
}

// Stream is one request of the hub: a head, then raw bytes in each direction. Reading
// and writing may happen at the same time, from one goroutine each.
type Stream struct {
	head     *agentv1.StreamHead
	request  *http.Request
	writer   http.ResponseWriter
	flusher  *http.ResponseController
	answered bool
}

// readHead reads the hub's request head: from the header, or from the beginning of
// the body.
func (s *Stream) readHead() error {
	text := s.request.Header.Get(headHeader)
	if text == "" {
		return frame.ReadMax(s.request.Body, s.head, maxHead)
	}
	raw, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	return frame.ReadMax(bytes.NewReader(raw), s.head, maxHead)
}

// Head is the head of the hub's request.
func (s *Stream) Head() *agentv1.StreamHead { return s.head }

// Read reads the body that the hub sends. io.EOF is its end, which for an upgraded
// stream is the half-close of the client.
func (s *Stream) Read(p []byte) (int, error) { return s.request.Body.Read(p) }

// Answer sends the head of the answer, once, and before the first Write.
func (s *Stream) Answer(a *agentv1.StreamAnswer) error {
	if err := s.Begin(a); err != nil {
		return err
	}
	return s.flusher.Flush()
}

// Begin is Answer for an answer whose body exists already: the head leaves with the
// next write, or when the stream ends.
func (s *Stream) Begin(a *agentv1.StreamAnswer) error {
	if s.answered {
		return errcode.New(errcode.Internal, "a stream was answered twice")
	}
	s.answered = true
	return frame.Write(s.writer, a)
}

// Write sends a part of the answer's body. It may wait until the buffer of 4 KiB is
// full or Flush is called.
func (s *Stream) Write(p []byte) (int, error) {
	if !s.answered {
		return 0, errcode.New(errcode.Internal, "a stream's body was written before its answer")
	}
	return s.writer.Write(p)
}

// Flush sends the buffered data.
func (s *Stream) Flush() error { return s.flusher.Flush() }

// Fail ends the answer early with a reason: the hub's Read returns the text instead
// of an end. Nothing may be written afterwards.
func (s *Stream) Fail(why error) {
	s.writer.Header().Set(http.TrailerPrefix+failureTrailer, errcode.Message(why))
}
