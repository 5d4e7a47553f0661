package port_test

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/axle-cd/axle/test/port"
)

// What was open over a link ends with it, bytes that it holds too, and its address refuses.
func TestClosedLinkRefuses(t *testing.T) {
	t.Parallel()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer server.Close()
	link, err := port.NewLink(server.Addr().String())
	must(t, err)
	near, err := net.Dial("tcp", link.Addr())
	must(t, err)
	defer near.Close()
	far, err := server.Accept()
	must(t, err)
	defer far.Close()
	for _, end := range [][2]net.Conn{{near, far}, {far, near}} {
		must(t, end[0].SetDeadline(time.Now().Add(time.Minute)))
		_, err = end[0].Write([]byte("a word"))
		must(t, err)
		_, err = io.ReadFull(end[1], make([]byte, 6))
		must(t, err)
	}
	link.Hold()
	_, err = near.Write([]byte("held"))
	must(t, err)
	must(t, link.Close())
	for name, conn := range map[string]net.Conn{"the client": near, "the server": far} {
		if _, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s has an open connection", name)
		}
	}
	if _, err := net.Dial("tcp", link.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("its address answers %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
