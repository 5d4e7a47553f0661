package wsconn_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/axle-cd/axle/internal/wsconn"
)

// TestLargeFramesAreOneWrite dials a server by TLS: what fits one frame of a
// WebSocket is one write beneath TLS, whatever its size, and arrives as it was.
func TestLargeFramesAreOneWrite(t *testing.T) {
	accepted := make(chan *wsconn.Conn, 1)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := wsconn.Accept(w, r, "test")
		if err != nil {
			t.Error(err)
		}
		accepted <- conn
	}))
	defer server.Close()
	var beneath *counted
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.ForceAttemptHTTP2, transport.TLSNextProto = false, nil
	transport.TLSClientConfig.NextProtos = []string{"http/1.1"}
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		beneath = &counted{Conn: conn}
		return wsconn.Gather(beneath), err
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn, answer, err := wsconn.Dial(t.Context(), transport, request, "test")
	if err != nil || conn == nil {
		t.Fatalf("the dial ended with %v, %v", answer, err)
	}
	defer conn.Close()
	far := <-accepted
	defer far.Close()
	beneath.writes()
	for _, c := range []struct{ size, writes int }{{1, 1}, {16 << 10, 1}, {32 << 10, 1}, {64 << 10, 1}, {65<<10 + 1, 2}, {256 << 10, 4}, {3, 1}} {
		sent := bytes.Repeat([]byte("0123456789abcdef!"), c.size/17+1)[:c.size]
		wrote := make(chan error, 1)
		go func() {
			_, err := conn.Write(sent)
			wrote <- err
		}()
		got := make([]byte, c.size)
		if _, err := io.ReadFull(far, got); err != nil {
			t.Fatal(err)
		}
		if err := <-wrote; err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, sent) {
			t.Fatalf("%d bytes arrived as others", c.size)
		}
		if n := beneath.writes(); n != c.writes {
			t.Errorf("%d bytes were written in %d pieces, want %d", c.size, n, c.writes)
		}
	}
	// The connection beneath is closed: the writer gets the error.
	beneath.Close()
	if _, err := conn.Write(make([]byte, 64<<10)); err == nil {
		t.Error("a write along a closed connection was none")
	}
}
