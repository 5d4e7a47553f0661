package wsconn

import (
	"crypto/tls"
	"net"
	"sync"
)

// tlsRecord is the most that one record of TLS carries.
const tlsRecord = 16 << 10

// Gathered is a connection beneath TLS. TLS writes each record by itself; those
// of one large frame of a Conn above are gathered and written at once, which is
// one system call and wakes the other end once rather than five times. Everything
// else passes through.
type Gathered struct {
	net.Conn
	mu      sync.Mutex
	holding bool
	held    *[]byte
}

// Gather returns a connection for TLS to write to.
func Gather(conn net.Conn) *Gathered { return &Gathered{Conn: conn} }

// gatheredBelow is the one beneath a connection, nil when there is none.
func gatheredBelow(conn net.Conn) *Gathered {
	if t, ok := conn.(*tls.Conn); ok {
		g, _ := t.NetConn().(*Gathered)
		return g
	}
	return nil
}

// gatheredBuffers have room for a frame and what TLS adds to its five records.
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

// hold keeps what is written until release.
func (g *Gathered) hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holding, g.held = true, gatheredBuffers.Get().(*[]byte)
}

// release writes what was kept. The lock is kept meanwhile: what TLS says of its
// own accord must not come between.
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
