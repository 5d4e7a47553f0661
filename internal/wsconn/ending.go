package wsconn

import (
	"net"
	"sync"
)

// Ending is a connection that signals when it is closed, for a server that serves it
// alone.
type Ending struct {
	net.Conn
	once sync.Once
	done chan struct{}
}

// NewEnding returns it for an open connection.
func NewEnding(conn net.Conn) *Ending { return &Ending{Conn: conn, done: make(chan struct{})} }

// Done is closed when the connection is.
func (e *Ending) Done() <-chan struct{} { return e.done }

// Close implements net.Conn.
func (e *Ending) Close() error {
	e.once.Do(func() { close(e.done) })
	return e.Conn.Close()
}

// Listener returns a listener that yields the connection and then waits for its end.
func (e *Ending) Listener() net.Listener { return &listener{end: e} }

type listener struct {
	end  *Ending
	once sync.Once
}

// Accept implements net.Listener.
func (l *listener) Accept() (conn net.Conn, err error) {
	l.once.Do(func() { conn = l.end })
	if conn != nil {
		return conn, nil
	}
	<-l.end.done
	return nil, net.ErrClosed
}

// Close implements net.Listener; the connection's owner closes it.
func (l *listener) Close() error { return nil }

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return l.end.LocalAddr() }
