package wsconn

import (
	"errors"
	"fmt"
	"io"
)

// typeExtension is the type of our frames. HTTP/2 allows either end to send frames of
// unknown types, and ignores them (RFC 9113, 5.5).
const typeExtension = 0xA7

// extensions is the state of reading the other end's frames.
type extensions struct {
	receive func(kind byte, payload []byte)
	most    int
	// left is the rest of the present HTTP/2 frame; its head, and how many bytes of
	// it HTTP/2 got.
	left  int
	head  [frameHead]byte
	given int
	whole bool
}

// Receive removes the extension frames of the other end from what is read, and passes
// them to receive, which must not block: HTTP/2 reads nothing meanwhile. The payload
// belongs to receive. A frame of more than most bytes ends the connection. Call it
// before the first Read.
func (j *Joined) Receive(most int, receive func(kind byte, payload []byte)) {
	j.in.most, j.in.receive = most, receive
}

// Send sends an extension frame, after the HTTP/2 frame that is being sent. It is
// safe for concurrent use.
func (j *Joined) Send(kind byte, payload []byte) error {
	frame := append(make([]byte, 0, frameHead+len(payload)),
		byte(len(payload)>>16), byte(len(payload)>>8), byte(len(payload)), typeExtension, kind, 0, 0, 0, 0)
	frame = append(frame, payload...)
	j.writing.Lock()
	defer j.writing.Unlock()
	if j.left > 0 || j.have > 0 || j.block {
		// The present writer writes the rest.
		j.waiting = append(j.waiting, frame...)
		return nil
	}
	if j.held != nil {
		*j.held = append(*j.held, frame...)
		_, err := j.release()
		return err
	}
	_, err := j.Conn.Write(frame)
	return err
}

// sendWaiting sends frames that waited for the end of a frame. The lock is held.
func (j *Joined) sendWaiting() error {
	if len(j.waiting) == 0 || j.left > 0 || j.have > 0 || j.block {
		return nil
	}
	waiting := j.waiting
	j.waiting = nil
	_, err := j.Conn.Write(waiting)
	return err
}

// Read implements net.Conn.
func (j *Joined) Read(p []byte) (int, error) {
	in := &j.in
	if in.receive == nil || len(p) == 0 {
		return j.Conn.Read(p)
	}
	for in.left == 0 && !in.whole {
		if err := j.next(); err != nil {
			return 0, err
		}
	}
	if in.whole {
		n := copy(p, in.head[in.given:])
		if in.given += n; in.given == frameHead {
			in.whole = false
		}
		return n, nil
	}
	n, err := j.Conn.Read(p[:min(len(p), in.left)])
	in.left -= n
	return n, err
}

// next reads the head of the next frame, and the whole frame if it is one of ours.
func (j *Joined) next() error {
	in := &j.in
	if _, err := io.ReadFull(j.Conn, in.head[:]); err != nil {
		return err
	}
	length := lengthOf(in.head[:])
	if in.head[3] != typeExtension {
		in.whole, in.given, in.left = true, 0, length
		return nil
	}
	if length > in.most {
		return fmt.Errorf("%w: an extension frame of %d bytes, at most %d", ErrProtocol, length, in.most)
	}
	payload := make([]byte, length)
	if _, err := io.ReadFull(j.Conn, payload); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	in.receive(in.head[4], payload)
	return nil
}
