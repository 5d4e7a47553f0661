package hub

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
)

// serving runs a server of the hub's with a handler that answers the length of the path.
func serving(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	s := &server{name: "test", heads: newRequestHeads(nil), listener: listener, log: slog.New(slog.DiscardHandler), handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, len(r.RequestURI), len(r.Header.Get("X-A")))
	})}
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// heading sends a request with a header of some bytes and returns the answer.
func heading(ctx context.Context, address, path string, bytes int) (int, string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("X-A", strings.Repeat("a", bytes))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

// TestClustersTakeTheHeadsOfAPIServers: paths of clusters take what an API server takes,
// and all others 16 KiB, as before.
func TestClustersTakeTheHeadsOfAPIServers(t *testing.T) {
	address := serving(t)
	for _, c := range []struct {
		path   string
		header int
		status int
		says   string
	}{
		{"/k8s/clusters/edge/api?x=" + strings.Repeat("a", 500<<10), 400 << 10, http.StatusOK, fmt.Sprint(25+500<<10, 400<<10)},
		{"/k8s/clusters/edge/api", 1<<20 + 64<<10, http.StatusRequestHeaderFieldsTooLarge, ""},
		{"/readyz", 15 << 10, http.StatusOK, ""},
		{"/readyz", 17 << 10, http.StatusRequestHeaderFieldsTooLarge, "16 KiB"},
		{"/readyz?x=" + strings.Repeat("a", 17<<10), 0, http.StatusRequestHeaderFieldsTooLarge, "16 KiB"},
	} {
		status, text, err := heading(t.Context(), address, c.path, c.header)
		// What is refused may be cut off while it is sent.
		if status != c.status || status == http.StatusOK && err != nil || err == nil && !strings.Contains(text, c.says) {
			t.Errorf("%.30s with %d bytes of headers: %d %.60q, %v; want %d", c.path, c.header, status, text, err, c.status)
		}
	}
}

// pieces is a connection from an address, on which as much arrives as is read.
type pieces struct {
	net.Conn
	from string
}

// RemoteAddr implements net.Conn.
func (p pieces) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(p.from), Port: 1} }

// Read implements net.Conn.
func (p pieces) Read(to []byte) (int, error) { return len(to), nil }

// Close implements net.Conn.
func (p pieces) Close() error { return nil }

// accepting is a listener of such connections.
type accepting struct {
	net.Listener
	next net.Conn
}

// Accept implements net.Listener.
func (a *accepting) Accept() (net.Conn, error) { return a.next, nil }

// TestUnfinishedHeadsHaveAShare: heads that do not end take a share of their address, and
// of all; small ones take nothing, and what is over is free again.
func TestUnfinishedHeadsHaveAShare(t *testing.T) {
	from := &accepting{}
	l := headListener{from, newRequestHeads(nil)}
	read := func(address string, bytes int) (*headConn, error) {
		from.next = pieces{from: address}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Read(make([]byte, bytes))
		return c.(*headConn), err
	}
	var all []*headConn
	for i := range 200 {
		c, err := read(fmt.Sprintf("192.0.%d.1", i/40), maxHeaderBytes+smallHead)
		all = append(all, c)
		// 16 of each address, of the last a half of what is left, and never all of 64.
		if want := i%40 < []int{16, 16, 16, 8, 4}[i/40]; (err == nil) != want {
			t.Fatalf("connection %d: %v, want that it goes on: %v", i, err, want)
		}
	}
	if _, err := read("192.0.0.1", smallHead); err != nil {
		t.Errorf("a small head beside them: %v", err)
	}
	for _, other := range all[40:] {
		other.expect(false)
	}
	all[0].expect(false) // its request began
	if _, err := all[0].Read(make([]byte, 8*maxHeaderBytes)); err != nil {
		t.Errorf("a body is counted as a head: %v", err)
	}
	c, err := read("192.0.0.1", maxHeaderBytes+smallHead)
	if err != nil {
		t.Errorf("what was over is not free again: %v", err)
	}
	c.expect(true) // and the next one, on the same connection
	if _, err := c.Read(make([]byte, maxHeaderBytes+smallHead)); err != nil || c.kept != maxHeaderBytes {
		t.Errorf("a second request: %v, %d bytes held", err, c.kept)
	}
	for _, c := range append(all, c) {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := l.heads.Used(); n != 0 {
		t.Errorf("%d bytes are held when all is over", n)
	}
}
