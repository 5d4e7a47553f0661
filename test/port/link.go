package port

import (
	"errors"
	"io"
	"net"
	"sync"
)

// Link passes connections on to one address and can be cut or held, as a
// network can: between a replica and the database, or between two replicas.
// What it runs ends with Close.
type Link struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu    sync.Mutex
	cut   bool
	held  chan struct{} // open while bytes wait
	conns map[net.Conn]bool
}

// NewLink listens on a port of this machine for a target, HOST:PORT.
func NewLink(target string) (*Link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &Link{listener: listener, target: target, conns: map[net.Conn]bool{}}
	l.running.Go(l.serve)
	return l, nil
}

// Addr is where it listens.
func (l *Link) Addr() string { return l.listener.Addr().String() }

// Close ends it and all its connections: from then on its address refuses.
func (l *Link) Close() error {
	if l == nil {
		return nil
	}
	err := l.listener.Close()
	l.Mend() // what waits in a Hold ends
	l.Cut()
	l.running.Wait()
	return err
}

// Cut ends all connections and refuses new ones until Mend.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	for conn := range l.conns {
		_ = conn.Close()
	}
}

// Hold lets bytes wait, in both directions, until Mend: the other side seems
// to hang.
func (l *Link) Hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = make(chan struct{})
	}
}

// Mend ends a Cut or a Hold.
func (l *Link) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
	if l.held != nil {
		close(l.held)
		l.held = nil
	}
}

func (l *Link) serve() {
	for {
		conn, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.running.Go(func() { l.pass(conn) })
	}
}

// keep notes a connection and reports whether it may live.
func (l *Link) keep(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		_ = conn.Close()
		return false
	}
	l.conns[conn] = true
	return true
}

func (l *Link) drop(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, conn)
	_ = conn.Close()
}

func (l *Link) pass(near net.Conn) {
	if !l.keep(near) {
		return
	}
	defer l.drop(near)
	far, err := net.Dial("tcp", l.target)
	if err != nil || !l.keep(far) {
		return
	}
	defer l.drop(far)
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		l.running.Go(func() {
			l.copy(way[1], way[0])
			done <- struct{}{}
		})
	}
	<-done
}

func (l *Link) copy(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		l.mu.Lock()
		held := l.held
		l.mu.Unlock()
		if held != nil {
			<-held
		}
		if _, werr := to.Write(buffer[:n]); werr != nil || err != nil {
			if !errors.Is(err, io.EOF) {
				return
			}
			if half, ok := to.(*net.TCPConn); ok {
				_ = half.CloseWrite()
			}
			return
		}
	}
}
