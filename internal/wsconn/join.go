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
)

// Joined is a connection along which HTTP/2 runs whose every message with
// headers and a body begins its body at once. Headers that are written alone
// wait for what is written next, and both go together: half the writes, TLS
// records and wake-ups at either end of a short message. One goroutine writes
// at a time, as HTTP/2 needs anyway.
//
// A message whose headers wait for its body's first byte stays here until
// anything else is written; who makes such messages cannot use it.
type Joined struct {
	net.Conn
	held *[]byte
	// left of the frame under way, and its head when that came in parts.
	left, have int
	head       [frameHead]byte
	// open: the last frame was headers, and more of their message follows.
	open bool
}

// Join returns a Joined; client is the end of HTTP/2 that says the preface.
func Join(conn net.Conn, client bool) *Joined {
	j := &Joined{Conn: conn}
	if client {
		j.left = prefaceBytes
	}
	return j
}

var heldBuffers = sync.Pool{New: func() any { b := make([]byte, 0, maxHeld); return &b }}

// Write implements net.Conn.
func (j *Joined) Write(p []byte) (int, error) {
	waits := j.endsInHeaders(p)
	if j.held == nil {
		if !waits || len(p) > maxHeld {
			return j.Conn.Write(p)
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
	n, err := j.Conn.Write(*j.held)
	if cap(*j.held) <= 8*maxHeld {
		*j.held = (*j.held)[:0]
		heldBuffers.Put(j.held)
	}
	j.held = nil
	return max(0, n-before), err
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
		j.left = int(j.head[0])<<16 | int(j.head[1])<<8 | int(j.head[2])
		switch j.head[3] {
		case typeHeaders:
			j.open = j.head[4]&flagEndStream == 0
		case typeContinuation:
		default:
			j.open = false
		}
	}
	return j.open && j.left == 0 && j.have == 0
}
