package wsconn

import (
	"errors"
	"fmt"
	"io"
)

// typeExtension is the type of our frames. HTTP/2 lets either end send frames
// of types that are not its own, and ignores those that it does not know (RFC
// 9113, 5.5).
const typeExtension = 0xA7

// extensions are the frames of the other end, as far as they were read.
type extensions struct {
	receive func(kind byte, payload []byte)
	most    int
	// left of the frame under way that is HTTP/2's own; its head, of which
	// HTTP/2 has got so many bytes.
	left  int
	head  [frameHead]byte
	given int
	whole bool
}

// Receive takes the extension frames of the other end out of what is read, and
// hands them to receive, which must not wait: HTTP/2 reads nothing meanwhile. The
// payload is its own. A frame of more than most bytes ends the connection.
// Call it before the first Read.
func (j *Joined) Receive(most int, receive func(kind byte, payload []byte)) {
	j.in.most, j.in.receive = most, receive
}

// Send sends an extension frame, after the frame of HTTP/2 that is on its way.
// Many may call it at once.
func (j *Joined) Send(kind byte, payload []byte) error {
	frame := append(make([]byte, 0, frameHead+len(payload)),
		byte(len(payload)>>16), byte(len(payload)>>8), byte(len(payload)), typeExtension, kind, 0, 0, 0, 0)
	frame = append(frame, payload...)
	j.writing.Lock()
	defer j.writing.Unlock()
	if j.left > 0 || j.have > 0 || j.block {
		// Its writer is about to write the rest.
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

// sendWaiting sends what waited for the end of a frame. The lock is held.
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

// next reads the head of the next frame, and all of one of ours.
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
