package wsconn

import (
	"crypto/tls"
	"net"
	"sync"
)

// tlsRecord is the maximum payload of one TLS record.
const tlsRecord = 16 << 10

// Gathered is a connection beneath TLS. TLS writes each record separately; the
// records of one large frame of a Conn above are gathered and written together, which
// is one system call and wakes the other end once instead of five times. Everything
// else passes through.
type Gathered struct {
	net.Conn
	mu      sync.Mutex
	holding bool
	held    *[]byte
}

// Gather returns a connection for TLS to write to.
func Gather(conn net.Conn) *Gathered { return &Gathered{Conn: conn} }

// gatheredBelow is the Gathered beneath a connection, nil if there is none.
func gatheredBelow(conn net.Conn) *Gathered {
	if t, ok := conn.(*tls.Conn); ok {
		g, _ := t.NetConn().(*Gathered)
		return g
	}
	return nil
}

// gatheredBuffers have space for a frame and the overhead of its five TLS records.
var gatheredBuffers = sync.Pool{New: func() any { b := make([]byte, 0, maxHead+maxPayload+5*64); return &b }}

// Write implements net.Conn.
func (g *Gathered) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.holding {
		return g.Conn.Write(p)
	}
	*g.held = append(*g.held, p...)
	return len(p), nil
}

// hold keeps writes until release.
func (g *Gathered) hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holding, g.held = true, gatheredBuffers.Get().(*[]byte)
}

// release writes what was kept. It holds the lock meanwhile: data that TLS sends by
// itself must not come in between.
func (g *Gathered) release() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var err error
	if len(*g.held) > 0 {
		_, err = g.Conn.Write(*g.held)
	}
	*g.held = (*g.held)[:0]
	gatheredBuffers.Put(g.held)
	g.holding, g.held = false, nil
	return err
}
