package wsconn_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/axle-cd/axle/internal/wsconn"
)

// ends is HTTP/2 along two joined ends; before is called with them while
// nothing was read.
func ends(t *testing.T, handler http.HandlerFunc, before func(client, server *wsconn.Joined)) *http.ClientConn {
	t.Helper()
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
	client, server := wsconn.Join(dialled, true), wsconn.Join(accepted, false)
	before(client, server)
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	done := make(chan struct{})
	srv := &http.Server{Protocols: &protocols, Handler: handler}
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(&one{Conn: server, done: done}) })
	t.Cleanup(serving.Wait)
	t.Cleanup(func() { srv.Close() })
	t.Cleanup(func() { close(done) })
	transport := &http.Transport{Protocols: &protocols, DialContext: func(context.Context, string, string) (net.Conn, error) { return client, nil }}
	cc, err := transport.NewClientConn(t.Context(), "http", "joined:80")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	return cc
}

// echoed asks for a body back, and fails the test when it is another one.
func echoed(t *testing.T, cc *http.ClientConn, size int) {
	t.Helper()
	sent := strings.Repeat("x", size)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://joined/", strings.NewReader(sent))
	if err != nil {
		t.Error(err)
		return
	}
	// Headers that take several frames have their own end.
	r.Header.Set("Axle-Long", strings.Repeat("y", size%40_000))
	response, err := cc.RoundTrip(r)
	if err != nil {
		t.Error(err)
		return
	}
	defer response.Body.Close()
	if got, err := io.ReadAll(response.Body); err != nil || string(got) != sent {
		t.Errorf("%d of %d bytes came back: %v", len(got), size, err)
	}
}

func echo(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }

// inbox takes frames.
type inbox struct {
	mu   sync.Mutex
	came map[byte][]uint32 // numbers, by kind
	bad  []string
}

// content is a payload of a number, as long as it likes to be.
func content(n uint32) []byte {
	payload := make([]byte, 4+int(n*7919%20_000))
	binary.BigEndian.PutUint32(payload, n)
	sum := sha256.Sum256(payload[:4])
	for at := 4; at < len(payload); at += copy(payload[at:], sum[:]) {
	}
	return payload
}

func (i *inbox) receive(kind byte, payload []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	n := binary.BigEndian.Uint32(payload)
	if !bytes.Equal(payload, content(n)) {
		i.bad = append(i.bad, fmt.Sprintf("frame %d of kind %d came with %d other bytes", n, kind, len(payload)))
	}
	i.came[kind] = append(i.came[kind], n)
}

// TestExtensionsGoBesideHTTP2 sends frames both ways from several goroutines
// while bodies and headers of all sizes go both ways too.
func TestExtensionsGoBesideHTTP2(t *testing.T) {
	const senders, frames = 3, 200
	atClient, atServer := &inbox{came: map[byte][]uint32{}}, &inbox{came: map[byte][]uint32{}}
	var client, server *wsconn.Joined
	cc := ends(t, echo, func(c, s *wsconn.Joined) {
		client, server = c, s
		c.Receive(1<<16, atClient.receive)
		s.Receive(1<<16, atServer.receive)
	})
	echoed(t, cc, 1)
	var all sync.WaitGroup
	for kind := range byte(senders) {
		for _, end := range []*wsconn.Joined{client, server} {
			all.Go(func() {
				for n := range uint32(frames) {
					if err := end.Send(kind, content(n)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	for range 4 {
		all.Go(func() {
			for _, size := range []int{0, 1, 100, 5000, 16 << 10, 39_999, 100_000, 1 << 20} {
				echoed(t, cc, size)
			}
		})
	}
	all.Wait()
	// Frames sent before this answer were read before it.
	echoed(t, cc, 10)
	want := make([]uint32, frames)
	for n := range want {
		want[n] = uint32(n)
	}
	for name, box := range map[string]*inbox{"client": atClient, "server": atServer} {
		box.mu.Lock()
		for kind := range byte(senders) {
			if !slices.Equal(box.came[kind], want) {
				t.Errorf("the %s got %d frames of kind %d, or not in their order", name, len(box.came[kind]), kind)
			}
		}
		for _, bad := range box.bad {
			t.Error(bad)
		}
		box.mu.Unlock()
	}
}

// An end that knows no frames of ours has HTTP/2, which ignores them.
func TestEndThatKnowsNoExtensionsIgnoresThem(t *testing.T) {
	var client *wsconn.Joined
	cc := ends(t, echo, func(c, _ *wsconn.Joined) { client = c })
	for n := range uint32(20) {
		echoed(t, cc, 1000)
		if err := client.Send(1, content(n)[:4]); err != nil {
			t.Fatal(err)
		}
	}
	echoed(t, cc, 1000)
}

// A frame that is longer than anybody agreed on ends the connection before it
// is read.
func TestLongExtensionEndsTheConnection(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	joined := wsconn.Join(here, true)
	joined.Receive(100, func(byte, []byte) { t.Error("it was received") })
	go func() { _ = wsconn.Join(there, false).Send(1, make([]byte, 101)) }()
	if _, err := joined.Read(make([]byte, 10)); !errors.Is(err, wsconn.ErrProtocol) {
		t.Errorf("the reader hears %v", err)
	}
}

// TestExtensionWaitsForTheEndOfAFrame writes frames of HTTP/2 in pieces.
func TestExtensionWaitsForTheEndOfAFrame(t *testing.T) {
	const headers, data, continuation = 1, 0, 9
	frame := func(kind, flags byte, payload int) []byte {
		return append([]byte{byte(payload >> 16), byte(payload >> 8), byte(payload), kind, flags, 0, 0, 0, 1}, make([]byte, payload)...)
	}
	ours := append([]byte{0, 0, 2, 0xA7, 7, 0, 0, 0, 0}, "hi"...)
	whole := frame(data, 0, 50)
	for name, test := range map[string]struct {
		before, after [][]byte
		// want is the expected content of the connection, in order.
		want [][]byte
	}{
		"between frames":                  {[][]byte{whole}, [][]byte{whole}, [][]byte{whole, ours, whole}},
		"in a frame":                      {[][]byte{whole[:20]}, [][]byte{whole[20:], whole}, [][]byte{whole, ours, whole}},
		"in a frame of three pieces":      {[][]byte{whole[:20]}, [][]byte{whole[20:30], whole[30:]}, [][]byte{whole, ours}},
		"in a frame's head":               {[][]byte{whole[:5]}, [][]byte{whole[5:]}, [][]byte{whole, ours}},
		"with headers that wait":          {[][]byte{frame(headers, 4, 30)}, [][]byte{whole}, [][]byte{frame(headers, 4, 30), ours, whole}},
		"in headers that go on":           {[][]byte{frame(headers, 0, 30)}, [][]byte{frame(continuation, 4, 30), whole}, [][]byte{frame(headers, 0, 30), frame(continuation, 4, 30), whole, ours}},
		"in headers longer than may wait": {[][]byte{frame(headers, 0, 5000)}, [][]byte{frame(continuation, 4, 30), whole}, [][]byte{frame(headers, 0, 5000), frame(continuation, 4, 30), whole, ours}},
	} {
		t.Run(name, func(t *testing.T) {
			beneath, other := net.Pipe()
			defer other.Close()
			go func() { _, _ = io.Copy(io.Discard, other) }()
			to := &counted{Conn: beneath}
			joined := wsconn.Join(to, false)
			write := func(parts [][]byte) {
				for _, p := range parts {
					if n, err := joined.Write(p); n != len(p) || err != nil {
						t.Fatalf("wrote %d of %d: %v", n, len(p), err)
					}
				}
			}
			write(test.before)
			if err := joined.Send(7, []byte("hi")); err != nil {
				t.Fatal(err)
			}
			write(test.after)
			if got, want := bytes.Join(to.wrote, nil), bytes.Join(test.want, nil); !bytes.Equal(got, want) {
				t.Errorf("wrote\n%x, want\n%x", got, want)
			}
		})
	}
}
