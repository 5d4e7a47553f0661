// Package frame writes and reads protobuf messages on a pipe: a big-endian uint32
// length, then the message. The agent and its render child use it over standard input
// and output.
//
// It keeps no state and does not buffer; callers wrap the pipe if that helps. A frame
// is at most MaxBytes. A longer one is rejected before any byte of it is read, and
// memory grows with what arrives, not with the announced length.
package frame

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/internal/bounded"
)

// MaxBytes is the longest message: it can hold the rendered objects of a very large
// service, and a limited child can still decode it.
const MaxBytes = 64 << 20

// times is how much larger than the longest text a message may become: objects are mostly
// text.
const times = 4

// ErrTooLong is wrapped by errors about a frame above MaxBytes.
var ErrTooLong = errors.New("frame too long")

// Write sends one message.
func Write(w io.Writer, m proto.Message) error {
	size := proto.Size(m)
	if size > MaxBytes {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLong, size, MaxBytes)
	}
	buf := make([]byte, 4, 4+size)
	binary.BigEndian.PutUint32(buf, uint32(size))
	// Deterministic, so that equal passes yield equal bytes.
	buf, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(buf, m)
	if err != nil {
		return fmt.Errorf("encode frame: %w", err)
	}
	if _, err := w.Write(buf); err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	return nil
}

// Read receives one message into m. If the pipe ends between two frames, it returns
// io.EOF itself; inside a frame, a wrapped io.ErrUnexpectedEOF.
func Read(r io.Reader, m proto.Message) error { return ReadMax(r, m, MaxBytes) }

// ReadMax is Read for messages that are never longer than limit bytes.
func ReadMax(r io.Reader, m proto.Message, limit int64) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		return fmt.Errorf("read frame: %w", err)
	}
	size := int64(binary.BigEndian.Uint32(head[:]))
	if size > limit {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLong, size, limit)
	}
	var body bytes.Buffer
	body.Grow(int(min(size, 1<<20)))
	n, err := body.ReadFrom(io.LimitReader(r, size))
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("read frame: %w", err)
	}
	if err := bounded.Proto(body.Bytes(), m, int(times*limit)+bounded.Least); err != nil {
		return fmt.Errorf("decode frame: %w", err)
	}
	return nil
}
