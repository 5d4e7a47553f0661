package gitagent

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// listener is the guard's end of the socket to its hub.
type listener struct {
	line *net.UnixConn
	// lost receives once, when the hub is lost.
	lost  chan error
	heard chan struct{}

	mu    sync.Mutex
	conns []int // descriptors of the hub's connections to upstream
	hung  bool
}

func newListener(f *os.File) (*listener, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	line, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errors.New("descriptor 3 is not a socket"), c.Close())
	}
	l := &listener{line: line, lost: make(chan error, 1), heard: make(chan struct{}, 1)}
	go l.listen()
	go l.watch()
	return l, nil
}

// listen reads heartbeats and connections until the socket closes.
func (l *listener) listen() {
	buf, rights := make([]byte, 64), make([]byte, unix.CmsgSpace(64*4))
	for {
		n, oobn, _, _, err := l.line.ReadMsgUnix(buf, rights)
		l.take(rights[:oobn])
		if err != nil || n == 0 {
			l.lose(errors.New("the hub ended or gave up"))
			return
		}
		select {
		case l.heard <- struct{}{}:
		default:
		}
	}
}

func (l *listener) take(rights []byte) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return // a message that cannot be parsed holds no descriptor
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			continue
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			l.conns = append(l.conns, fd)
			if l.hung {
				_ = unix.Shutdown(fd, unix.SHUT_RDWR)
			}
		}
	}
}

// watch ends when heartbeats stop.
func (l *listener) watch() {
	last := bootTime()
	tick := time.NewTicker(guardLookEvery)
	defer tick.Stop()
	for range tick.C {
		select {
		case <-l.heard:
			last = bootTime()
		default:
		}
		if bootTime()-last > GuardTimeout {
			l.lose(fmt.Errorf("no heartbeat of the hub for %v", GuardTimeout))
			return
		}
	}
}

func (l *listener) lose(why error) {
	select {
	case l.lost <- why:
	default:
	}
}

// hangUp shuts down the connections for all their holders. The process ends
// soon, so errors of the kernel are ignored.
func (l *listener) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hung = true
	for _, fd := range l.conns {
		_ = unix.Shutdown(fd, unix.SHUT_RDWR)
	}
}
