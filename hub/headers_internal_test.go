package hub

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A client may use a header table of 4 KiB until it has read the server's
// settings: a client that begins with many requests at once does.
func TestManyRequestsBeforeTheServersSettingsAreRead(t *testing.T) {
	const requests = 30
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	s := &server{name: "test", heads: newRequestHeads(nil), listener: listener, log: slog.New(slog.DiscardHandler), handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	var sent bytes.Buffer
	sent.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(&sent, conn)
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for n := range requests {
		block.Reset()
		for _, field := range [][2]string{
			{":method", "GET"}, {":scheme", "http"}, {":authority", "hub"}, {":path", fmt.Sprintf("/%060d", n)},
			{"authorization", "Bearer " + strings.Repeat("x", 300)},
		} {
			if err := encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}); err != nil {
				t.Fatal(err)
			}
		}
		if err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*n + 1), BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Write(sent.Bytes()); err != nil {
		t.Fatal(err)
	}
	for answered := 0; answered < requests; {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatalf("after %d answers: %v", answered, err)
		}
		switch f := frame.(type) {
		case *http2.HeadersFrame:
			answered++
		case *http2.GoAwayFrame:
			t.Fatalf("after %d answers the server goes away: %v", answered, f.ErrCode)
		}
	}
}
