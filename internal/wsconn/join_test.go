package wsconn_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/axle-cd/axle/internal/wsconn"
)

// counted counts the writes of a connection.
type counted struct {
	net.Conn
	mu    sync.Mutex
	wrote [][]byte
}

func (c *counted) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.wrote = append(c.wrote, bytes.Clone(p))
	c.mu.Unlock()
	return c.Conn.Write(p)
}

// writes returns how many writes there were since the last call.
func (c *counted) writes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.wrote)
	c.wrote = nil
	return n
}

// one is a listener that yields one connection.
type one struct {
	net.Conn
	once sync.Once
	done chan struct{}
}

func (o *one) Accept() (conn net.Conn, err error) {
	o.once.Do(func() { conn = o.Conn })
	if conn == nil {
		<-o.done
		err = net.ErrClosed
	}
	return conn, err
}
func (o *one) Close() error   { return nil }
func (o *one) Addr() net.Addr { return o.LocalAddr() }

// TestHeadersLeaveWithWhatFollows runs HTTP/2 along a joined connection: a
// short message with a body is one write at either end, and bodies of all sizes
// arrive whole.
func TestHeadersLeaveWithWhatFollows(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	dialled, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	client, server := &counted{Conn: dialled}, &counted{Conn: accepted}
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	done := make(chan struct{})
	srv := &http.Server{Protocols: &protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(body)
	})}
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(&one{Conn: wsconn.Join(server, false), done: done}) })
	defer serving.Wait()
	defer srv.Close()
	defer close(done)
	transport := &http.Transport{Protocols: &protocols, DialContext: func(context.Context, string, string) (net.Conn, error) { return wsconn.Join(client, true), nil }}
	cc, err := transport.NewClientConn(t.Context(), "http", "joined:80")
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	ask := func(size int) {
		t.Helper()
		sent := strings.Repeat("x", size)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://joined/", strings.NewReader(sent))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Axle-Long", strings.Repeat("y", size%6000))
		answer, err := cc.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if got, err := io.ReadAll(answer.Body); err != nil || string(got) != sent {
			t.Fatalf("%d bytes became %d: %v", size, len(got), err)
		}
	}
	for _, size := range []int{0, 1, 3000, 4096, 5000, 20_000, 300_000} {
		ask(size)
	}
	// The settings of both ends have been exchanged; only single window updates may
	// still arrive by themselves, so that one of many is enough.
	fewest := func() string {
		least := [2]int{1 << 20, 1 << 20}
		for range 20 {
			client.writes()
			server.writes()
			ask(100)
			least[0], least[1] = min(least[0], client.writes()), min(least[1], server.writes())
		}
		return fmt.Sprint(least)
	}
	if got := fewest(); got != "[1 1]" {
		t.Errorf("a message was written in %s pieces, want 1 at each end", got)
	}
}

// TestWhatIsHeldAndWhatIsNot writes frames by hand.
func TestWhatIsHeldAndWhatIsNot(t *testing.T) {
	const headers, data, ping, continuation, end = 1, 0, 6, 9, 1
	frame := func(kind, flags byte, payload int) []byte {
		return append([]byte{byte(payload >> 16), byte(payload >> 8), byte(payload), kind, flags, 0, 0, 0, 1}, make([]byte, payload)...)
	}
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	open := frame(headers, 4, 30)
	for name, test := range map[string]struct {
		write [][]byte
		// sizes are those of the writes beneath.
		want []int
	}{
		"headers wait for data":         {[][]byte{open, frame(data, end, 5)}, []int{39 + 14}},
		"headers that end a message":    {[][]byte{frame(headers, 4|end, 30), frame(data, 0, 5)}, []int{39, 14}},
		"anything else takes them":      {[][]byte{open, frame(ping, 0, 8), frame(data, 0, 5)}, []int{39 + 17, 14}},
		"several messages wait":         {[][]byte{open, open, frame(data, 0, 5)}, []int{39 + 39 + 14}},
		"headers that go on":            {[][]byte{frame(headers, 0, 30), frame(continuation, 4, 30), frame(data, 0, 5)}, []int{39 + 39 + 14}},
		"data and then headers":         {[][]byte{join(frame(data, end, 5), open), frame(data, 0, 5)}, []int{14 + 39 + 14}},
		"headers and then data at once": {[][]byte{join(open, frame(data, 0, 5))}, []int{53}},
		"a frame in two pieces":         {[][]byte{frame(data, 0, 50)[:20], frame(data, 0, 50)[20:], open, frame(data, 0, 1)}, []int{20, 39, 39 + 10}},
		"a head in two pieces":          {[][]byte{open[:4], open[4:], frame(data, 0, 1)}, []int{4, 35 + 10}},
		"headers too long to wait":      {[][]byte{frame(headers, 4, 5000), frame(data, 0, 1)}, []int{5009, 10}},
		"too many to wait":              {[][]byte{frame(headers, 4, 3000), frame(headers, 4, 3000), frame(data, 0, 1)}, []int{6018, 10}},
	} {
		t.Run(name, func(t *testing.T) {
			beneath, other := net.Pipe()
			defer other.Close()
			go func() { _, _ = io.Copy(io.Discard, other) }()
			to := &counted{Conn: beneath}
			joined := wsconn.Join(to, false)
			for _, p := range test.write {
				if n, err := joined.Write(p); n != len(p) || err != nil {
					t.Fatalf("wrote %d of %d: %v", n, len(p), err)
				}
			}
			var got []int
			for _, p := range to.wrote {
				got = append(got, len(p))
			}
			if fmt.Sprint(got) != fmt.Sprint(test.want) || !bytes.Equal(join(to.wrote...), join(test.write...)) {
				t.Errorf("wrote %v, want %v", got, test.want)
			}
		})
	}
}
