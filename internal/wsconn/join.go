package wsconn

import (
	"net"
	"sync"

	"github.com/axle-cd/axle/internal/stackroom"
)

const (
	// maxHeld is the most that waits for what follows it.
	maxHeld = 4 << 10
	// frameHead is what each frame of HTTP/2 begins with.
	frameHead = 9
	// prefaceBytes is what a client of HTTP/2 says before its first frame.
	prefaceBytes = len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
)

// The frames of HTTP/2 that matter here.
const (
	typeHeaders      = 0x1
	typeContinuation = 0x9
	flagEndStream    = 0x1
	flagEndHeaders   = 0x4
)

// Joined is a connection along which HTTP/2 runs whose every message with
// headers and a body begins its body at once. Headers that are written alone
// wait for what is written next, and both go together: half the writes, TLS
// records and wake-ups at either end of a short message. One goroutine writes
// at a time, as HTTP/2 needs anyway.
//
// A message whose headers wait for its body's first byte stays here until
// anything else is written; who makes such messages cannot use it.
//
// Beside HTTP/2 it carries extension frames: Send from any goroutine, and
// Receive at the other end.
type Joined struct {
	net.Conn
	in extensions

	writing sync.Mutex
	held    *[]byte
	// left of the frame under way, and its head when that came in parts.
	left, have int
	head       [frameHead]byte
	// open: the last frame was headers, and more of their message follows.
	// block: the headers themselves go on in the next frame.
	open, block bool
	// waiting are extension frames that the end of a frame is awaited for.
	waiting []byte
}

// Join returns a Joined; client is the end of HTTP/2 that says the preface.
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
	// Whoever writes headers is a goroutine of its own for them.
	stackroom.Grow()
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

// endsInHeaders follows the frames and reports whether p ends with headers
// whose message goes on.
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

// lengthOf is that of the payload behind a frame's head.
func lengthOf(head []byte) int { return int(head[0])<<16 | int(head[1])<<8 | int(head[2]) }
