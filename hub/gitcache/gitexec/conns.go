package gitexec

import (
	"sync"
	"syscall"
)

// Conns are the connections to upstream that this process holds for one git
// command. Git's own connections end with git, but these stay open when this
// process is suspended, so the guard of git gets a copy of each to close.
type Conns struct {
	mu   sync.Mutex
	open []syscall.Conn
	send func(fd int) error
}

// Watch passes the descriptor of each connection, current and future, to send,
// which must copy it before it returns. The returned function stops that.
func (c *Conns) Watch(send func(fd int) error) (end func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.send = send
	for _, conn := range c.open {
		// A connection that cannot be passed on was closed meanwhile.
		_ = hand(conn, send)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.send = nil
	}
}

// Add records a new connection, before anything is sent on it.
func (c *Conns) Add(conn any) error {
	file, ok := conn.(syscall.Conn)
	if c == nil || !ok {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = append(c.open, file)
	if c.send == nil {
		return nil
	}
	return hand(file, c.send)
}

func hand(conn syscall.Conn, send func(fd int) error) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	if err := raw.Control(func(fd uintptr) { sent = send(int(fd)) }); err != nil {
		return err
	}
	return sent
}
