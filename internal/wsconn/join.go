package wsconn

import (
	"net"
	"sync"

	"github.com/axle-cd/axle/internal/growstack"
)

const (
	// maxHeld is the most that waits for the next write.
	maxHeld = 4 << 10
	// frameHead is the length of an HTTP/2 frame head.
	frameHead = 9
	// prefaceBytes is the length of an HTTP/2 client's preface.
	prefaceBytes = len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
)

// The frames of HTTP/2 that matter here.
const (
	typeHeaders      = 0x1
	typeContinuation = 0x9
	flagEndStream    = 0x1
	flagEndHeaders   = 0x4
)

// Joined is a connection for HTTP/2 messages whose body, if any, follows the headers
// at once. Headers that are written alone wait for the next write, and both leave
// together: half the writes, TLS records and wake-ups at either end of a short
// message. One goroutine writes at a time, as HTTP/2 requires anyway.
//
// A message whose headers wait for the first byte of its body is held here until
// something else is written; senders of such messages cannot use Joined.
//
// Besides HTTP/2 it carries extension frames: Send from any goroutine, and Receive at
// the other end.
type Joined struct {
	net.Conn
	in extensions

	writing sync.Mutex
	held    *[]byte
	// left of the present frame, and its head if that arrived in parts.
	left, have int
	head       [frameHead]byte
	// open: the last frame was headers, and their message continues. block: the
	// headers continue in the next frame.
	open, block bool
	// waiting are extension frames that wait for the end of a frame.
	waiting []byte
}

// Join returns a Joined; client is true for the HTTP/2 end that sends the preface.
func Join(conn net.Conn, client bool) *Joined {
	j := &Joined{Conn: conn}
	if client {
		j.left = prefaceBytes
	} else {
		j.in.left = prefaceBytes
	}
	return j
}

var heldBuffers = sync.Pool{New: func() any { b := make([]byte, 0, maxHeld); return &b }}

// Write implements net.Conn.
func (j *Joined) Write(p []byte) (int, error) {
	j.writing.Lock()
	defer j.writing.Unlock()
	waits := j.endsInHeaders(p)
	if j.held == nil {
		if !waits || len(p) > maxHeld {
			n, err := j.Conn.Write(p)
			if err == nil {
				err = j.sendWaiting()
			}
			return n, err
		}
		j.held = heldBuffers.Get().(*[]byte)
	}
	before := len(*j.held)
	*j.held = append(*j.held, p...)
	if waits && len(*j.held) <= maxHeld {
		return len(p), nil
	}
	// A writer of headers is a goroutine for that request.
	growstack.Grow()
	n, err := j.release()
	if err == nil {
		err = j.sendWaiting()
	}
	return max(0, n-before), err
}

// release writes what was held. The lock is held.
func (j *Joined) release() (int, error) {
	n, err := j.Conn.Write(*j.held)
	if cap(*j.held) <= 8*maxHeld {
		*j.held = (*j.held)[:0]
		heldBuffers.Put(j.held)
	}
	j.held = nil
	return n, err
}

// endsInHeaders follows the frames and reports whether p ends with headers whose
// message continues.
func (j *Joined) endsInHeaders(p []byte) bool {
	for len(p) > 0 {
		if j.left > 0 {
			n := min(j.left, len(p))
			j.left, p = j.left-n, p[n:]
			continue
		}
		n := copy(j.head[j.have:], p)
		j.have, p = j.have+n, p[n:]
		if j.have < frameHead {
			break
		}
		j.have = 0
		j.left = lengthOf(j.head[:])
		switch j.head[3] {
		case typeHeaders:
			j.open, j.block = j.head[4]&flagEndStream == 0, j.head[4]&flagEndHeaders == 0
		case typeContinuation:
			j.block = j.head[4]&flagEndHeaders == 0
		default:
			j.open, j.block = false, false
		}
	}
	return j.open && j.left == 0 && j.have == 0
}

// lengthOf is the length of the payload after a frame's head.
func lengthOf(head []byte) int { return int(head[0])<<16 | int(head[1])<<8 | int(head[2]) }
