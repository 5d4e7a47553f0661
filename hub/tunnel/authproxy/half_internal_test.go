package authproxy

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/internal/kubereq"
)

// lastWord is a cluster that answers once the client has sent everything.
type lastWord struct {
	ctx   context.Context
	heard chan struct{}
	said  bool
}

func (l *lastWord) Read(p []byte) (int, error) {
	select {
	case <-l.heard:
	case <-l.ctx.Done():
		return 0, l.ctx.Err()
	}
	if l.said {
		return 0, io.EOF
	}
	l.said = true
	// A closed stream returns nothing any more.
	return copy(p, "the last word"), l.ctx.Err()
}

func (*lastWord) Write(p []byte) (int, error) { return len(p), nil }
func (l *lastWord) CloseWrite() error         { close(l.heard); return nil }
func (*lastWord) Close() error                { return nil }
func (*lastWord) Answer(context.Context) (*agentv1.StreamAnswer, error) {
	return &agentv1.StreamAnswer{Status: http.StatusSwitchingProtocols, Upgrade: kubereq.WebSocket}, nil
}

// earlyWord is a cluster that has answered something before.
type earlyWord struct {
	*lastWord
	first string
}

// ReadNow implements relay.Prompt.
func (e *earlyWord) ReadNow(p []byte) (int, error) {
	n := copy(p, e.first)
	e.first = e.first[n:]
	return n, nil
}

// ends passes the records of ends on.
type ends chan audit.Record

func (e ends) Add(_ context.Context, r audit.Record)        { e <- r }
func (ends) AddNow(_ context.Context, _ audit.Record) error { return nil }

// A client that has sent everything still receives the end of the answer, and
// the request is recorded as successful.
func TestClientThatSaidAllHearsTheRest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ first, down string }{
		"nothing came with the answer":   {"", "13"},
		"something came with the answer": {"the first and ", "27"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hearTheRest(t, c.first, c.down)
		})
	}
}

func hearTheRest(t *testing.T, first, down string) {
	records := make(ends, 10)
	s := newStage(t, func(c *Config) {
		c.Audit = records
		c.Open = func(ctx context.Context, _ string, _ *agentv1.StreamHead) (Stream, error) {
			return &earlyWord{&lastWord{ctx: ctx, heard: make(chan struct{})}, first}, nil
		}
	})
	server := httptest.NewServer(s)
	defer server.Close()
	conn, in := execOn(t, server)
	defer conn.Close()
	if _, err := io.WriteString(conn, "all there is"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(in); err != nil || string(rest) != first+"the last word" {
		t.Errorf("the client hears %q, %v", rest, err)
	}
	select {
	case end := <-records:
		if end.Result != "ok" || end.Status != http.StatusSwitchingProtocols || end.Detail["bytes_up"] != "12" || end.Detail["bytes_down"] != down {
			t.Errorf("the end is recorded as %+v", end)
		}
	case <-time.After(time.Minute):
		t.Error("the end was not recorded")
	}
}

// broken is a cluster whose connection breaks after what it said.
type broken struct {
	*lastWord
	says string
}

func (b *broken) Read(p []byte) (int, error) {
	if b.says == "" {
		return 0, errCut
	}
	n := copy(p, b.says)
	b.says = b.says[n:]
	return n, nil
}

func (b *broken) Answer(context.Context) (*agentv1.StreamAnswer, error) {
	answer := chosen("Sec-WebSocket-Protocol", "v5.channel.k8s.io")
	answer.Upgrade = kubereq.WebSocket
	return answer, nil
}

func (*broken) CloseWrite() error { return nil }

// A command whose result has come is recorded as done, however its connection ends.
func TestConnectionThatBreaksAfterTheResultWasNotCut(t *testing.T) {
	t.Parallel()
	const binaryFrame = 0x82
	for name, c := range map[string]struct{ says, result string }{
		"the result":         {webSocketFrame(binaryFrame, "\x01hello") + webSocketFrame(binaryFrame, "\x03{}"), "ok"},
		"output alone":       {webSocketFrame(binaryFrame, "\x01hello"), "unavailable"},
		"half of the result": {webSocketFrame(binaryFrame, "\x03{}")[:3], "unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			records := make(ends, 10)
			s := newStage(t, func(c2 *Config) {
				c2.Audit = records
				c2.Open = func(ctx context.Context, _ string, _ *agentv1.StreamHead) (Stream, error) {
					return &broken{&lastWord{ctx: ctx}, c.says}, nil
				}
			})
			server := httptest.NewServer(s)
			defer server.Close()
			conn, in := execOn(t, server)
			defer conn.Close()
			if _, err := io.ReadAll(in); err != nil {
				t.Fatal(err)
			}
			for r := range records {
				if r.Detail["stage"] == "end" {
					if r.Result != c.result {
						t.Errorf("recorded as %s, want %s: %v", r.Result, c.result, r.Detail)
					}
					return
				}
			}
		})
	}
}

// execOn begins a command by WebSocket and returns its connection.
func execOn(t *testing.T, server *httptest.Server) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+Prefix+"edge/api/v1/namespaces/a/pods/b/exec?command=x", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer axle_tok_ann")
	for i := 0; i < len(webSocketUpgrade); i += 2 {
		r.Header.Set(webSocketUpgrade[i], webSocketUpgrade[i+1])
	}
	if err := r.Write(conn); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	answer, err := http.ReadResponse(in, r)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%+v, %v", answer, err)
	}
	return conn, in
}
