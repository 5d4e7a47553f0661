package wsconn_test

import (
	"errors"
	"net"
	"testing"
	"testing/synctest"

	"github.com/axle-cd/axle/internal/wsconn"
)

func TestListenerYieldsItsConnectionUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		end := wsconn.NewEnding(near)
		l := end.Listener()
		if conn, err := l.Accept(); err != nil || conn != net.Conn(end) {
			t.Fatalf("the first is %v: %v", conn, err)
		}
		select {
		case <-end.Done():
			t.Fatal("an open connection has ended")
		default:
		}
		second := make(chan error)
		go func() {
			_, err := l.Accept()
			second <- err
		}()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the second call of Accept is under way
		select {
		case err := <-second:
			t.Fatalf("there is a second connection, or an end, while the first is open: %v", err)
		default:
		}
		for range 2 {
			_ = end.Close()
		}
		if err := <-second; !errors.Is(err, net.ErrClosed) {
			t.Errorf("after the end it is %v", err)
		}
	})
}
