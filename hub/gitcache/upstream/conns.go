package upstream

import (
	"net"
	"sync"
	"syscall"
)

// Conns are the connections to upstream that this process holds for one git
// command. Git's own would end with git; these would not when this process is
// stopped, so whoever guards git is given a copy of each to end.
type Conns struct {
	mu   sync.Mutex
	open []syscall.Conn
	send func(fd int) error
}

// Watch hands the descriptor of each connection, those that are open now and
// those that follow, to send, which must copy it before it returns. What Watch
// returns ends that.
func (c *Conns) Watch(send func(fd int) error) (end func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.send = send
	for _, conn := range c.open {
		// One that cannot be handed on was closed meanwhile.
		_ = hand(conn, send)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.send = nil
	}
}

// add notes a new connection, before anything is said on it.
func (c *Conns) add(conn net.Conn) error {
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
