package tunnel_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/api/agent/v1/agentv1connect"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/frame"
)

// firstAgent is an agent of the protocol's first version, played by hand: it
// reads each head from the beginning of the body and knows no header with one.
type firstAgent struct {
	t *testing.T
	// version is the one in its hello; 0 is a hello without a version.
	version int32
	serve   func(head *agentv1.StreamHead, body io.Reader, answer func(*agentv1.StreamAnswer) io.Writer)

	mu      sync.Mutex
	headers []http.Header // of the streams
}

// run dials the hub and serves one connection.
func (a *firstAgent) run(h *hub, cluster string) {
	a.t.Helper()
	conn, err := dialer(h.url(), transportFor(h.server), cluster)(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	served := make(chan struct{})
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	_, control := agentv1connect.NewTunnelServiceHandler(a)
	server := &http.Server{Protocols: &protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/stream" {
			control.ServeHTTP(w, r)
			return
		}
		a.stream(w, r)
	})}
	listener := &single{conns: make(chan net.Conn, 1), closed: make(chan struct{})}
	listener.conns <- conn
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	a.t.Cleanup(func() { _ = server.Close(); <-served; _ = conn.Close() })
}

// single is a listener that yields one connection.
type single struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (s *single) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}
func (s *single) Close() error   { s.once.Do(func() { close(s.closed) }); return nil }
func (s *single) Addr() net.Addr { return &net.TCPAddr{} }

// Control is agentv1connect.TunnelServiceHandler.
func (a *firstAgent) Control(_ context.Context, r *connect.Request[agentv1.ControlRequest]) (*connect.Response[agentv1.ControlResponse], error) {
	answer := &agentv1.ControlResponse{}
	switch m := r.Msg.GetMessage().(type) {
	case *agentv1.ControlRequest_Hello:
		answer.Message = &agentv1.ControlResponse_Hello{Hello: &agentv1.TunnelHello{ProtocolVersion: a.version, Version: "0.1.0", Proxy: "full"}}
	case *agentv1.ControlRequest_Ping:
		answer.Message = &agentv1.ControlResponse_Ping{Ping: &agentv1.TunnelPing{Number: m.Ping.GetNumber(), Answer: true}}
	}
	return connect.NewResponse(answer), nil
}

func (a *firstAgent) stream(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.headers = append(a.headers, r.Header.Clone())
	a.mu.Unlock()
	head := &agentv1.StreamHead{}
	var from io.Reader = r.Body
	if text := r.Header.Get("Axle-Head"); text != "" && a.version >= 2 {
		from = base64.NewDecoder(base64.RawStdEncoding, strings.NewReader(text))
	}
	if err := frame.ReadMax(from, head, 1<<20); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	control := http.NewResponseController(w)
	a.serve(head, r.Body, func(answer *agentv1.StreamAnswer) io.Writer {
		if err := errors.Join(frame.Write(w, answer), control.Flush()); err != nil {
			a.t.Errorf("answer: %v", err)
		}
		return flushing{w, control}
	})
}

type flushing struct {
	io.Writer
	control *http.ResponseController
}

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.Writer.Write(p)
	return n, errors.Join(err, f.control.Flush())
}

// TestAnAgentOfTheFourthVersionHasNoCredentials: it answers questions about readiness, and would
// take one about a credential for a request to its API server.
func TestAnAgentOfTheFourthVersionHasNoCredentials(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("old"), nil)
	a := &firstAgent{t: t, version: 4, serve: func(head *agentv1.StreamHead, _ io.Reader, answer func(*agentv1.StreamAnswer) io.Writer) {
		_, _ = io.WriteString(answer(&agentv1.StreamAnswer{Status: 200}), "canary")
	}}
	a.run(h, "old")
	up(t, h, "old")
	credential := head("ann", 0, "")
	credential.Credential = &agentv1.CredentialQuestion{ServiceId: "svc-1"}
	s, err := h.Open(t.Context(), "old", credential)
	if !errcode.Is(err, errcode.Unprocessable) || !strings.Contains(err.Error(), "is of version 0.1.0 and does not answer credentials of clusters yet; upgrade it") {
		t.Errorf("the answer is %v, %v", s, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.headers) > 0 {
		t.Errorf("the agent was asked: %v", a.headers)
	}
}

// TestAgentsOfOlderVersions: a GET, a short one, a watch and a command through an
// agent that does not support later features, also besides one that does.
func TestAgentsOfOlderVersions(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]int32{"the second": 2, "the first": 1, "one that says none": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDirectory("old", "new")
			h := startHub(t, d, nil)
			more := make(chan string)
			a := &firstAgent{t: t, version: version, serve: func(head *agentv1.StreamHead, body io.Reader, answer func(*agentv1.StreamAnswer) io.Writer) {
				switch head.GetRequestUri() {
				case "/watch":
					w := answer(&agentv1.StreamAnswer{Status: 200})
					for event := range more {
						_, _ = io.WriteString(w, event)
					}
				case "/exec":
					w := answer(&agentv1.StreamAnswer{Status: 101, Upgrade: "websocket"})
					_, _ = io.Copy(w, body)
				default:
					_, _ = io.WriteString(answer(&agentv1.StreamAnswer{Status: 200}), head.GetIdentity().GetUser()+" "+head.GetMethod()+" "+head.GetRequestUri())
				}
			}}
			a.run(h, "old")
			up(t, h, "old")
			startAgent(t, dialer(h.url(), transportFor(h.server), "new"), echo, nil)
			up(t, h, "new")

			get := head("ann", 0, "")
			if text := h.read(t, "old", get); text != "ann GET /api" {
				t.Errorf("a GET is answered with %q", text)
			}
			if text := h.read(t, "old", short("/api/v1")); text != "ann GET /api/v1" {
				t.Errorf("a short GET is answered with %q", text)
			}
			mustAsk(t, h, "new", "")
			question := head("ann", 0, "")
			question.Readiness = &agentv1.ReadinessQuestion{To: "1.37"}
			if s, err := h.Open(t.Context(), "old", question); !errcode.Is(err, errcode.Unprocessable) || !strings.Contains(err.Error(), "of version 0.1.0 and does not answer readiness yet") {
				t.Errorf("a question for the agent itself: %v, %v", s, err)
			}
			credential := head("ann", 0, "")
			credential.Credential = &agentv1.CredentialQuestion{ServiceId: "svc-1"}
			if s, err := h.Open(t.Context(), "old", credential); !errcode.Is(err, errcode.Unprocessable) || !strings.Contains(err.Error(), "does not answer credentials of clusters yet") {
				t.Errorf("a question about a credential: %v, %v", s, err)
			}

			watch := head("ann", 0, "")
			watch.RequestUri = "/watch"
			s := h.opened(t, "old", watch)
			for n := range 3 {
				event := fmt.Sprintf("event %d;", n)
				more <- event
				got := make([]byte, len(event))
				if _, err := io.ReadFull(s, got); err != nil || string(got) != event {
					t.Fatalf("%q, %v", got, err)
				}
			}
			close(more)
			if rest, err := io.ReadAll(s); err != nil || len(rest) > 0 {
				t.Errorf("after the events: %q, %v", rest, err)
			}

			exec := head("ann", 0, "websocket")
			exec.RequestUri = "/exec"
			c := h.opened(t, "old", exec)
			for _, line := range []string{"one\n", strings.Repeat("x", 100<<10)} {
				go func() { _, _ = io.WriteString(c, line) }()
				got := make([]byte, len(line))
				if _, err := io.ReadFull(c, got); err != nil || string(got) != line {
					t.Fatalf("%d bytes, %v", len(got), err)
				}
			}
			if err := c.CloseWrite(); err != nil {
				t.Error(err)
			}
			if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
				t.Errorf("after the command: %q, %v", rest, err)
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			if len(a.headers) != 4 {
				t.Errorf("%d streams", len(a.headers))
			}
			for _, h := range a.headers {
				if version < 2 && h.Get("Axle-Head") != "" {
					t.Errorf("it was sent what it does not know: %v", h)
				}
			}
		})
	}
}

// opened is a stream whose answer was good.
func (h *hub) opened(t *testing.T, cluster string, head *agentv1.StreamHead) *hubStream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	t.Cleanup(cancel)
	s, err := h.Open(ctx, cluster, head)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if head.GetUpgrade() == "" {
		_ = s.CloseWrite()
	}
	answer, err := s.Answer(ctx)
	if err != nil || answer.GetStatus() >= 400 {
		t.Fatalf("%v, %v", answer, err)
	}
	return s
}

func (h *hub) read(t *testing.T, cluster string, head *agentv1.StreamHead) string {
	t.Helper()
	text, err := io.ReadAll(h.opened(t, cluster, head))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestHubsOfTheFirstVersion: an agent of today and a hub that was not upgraded,
// played by hand: it sends heads in bodies alone, and its hello says little.
func TestHubsOfTheFirstVersion(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	dialled := make(chan struct{}, 1)
	dialled <- struct{}{}
	startAgent(t, func(ctx context.Context) (net.Conn, error) {
		select {
		case <-dialled:
			return theirs, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}, echo, nil)
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols, DialContext: func(context.Context, string, string) (net.Conn, error) { return ours, nil }}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport, Timeout: soon}
	control := agentv1connect.NewTunnelServiceClient(client, "http://tunnel", connect.WithGRPC())
	hello, err := control.Control(t.Context(), connect.NewRequest(&agentv1.ControlRequest{Message: &agentv1.ControlRequest_Hello{Hello: &agentv1.TunnelHello{ProtocolVersion: 1, Version: "0.1.0"}}}))
	if err != nil || hello.Msg.GetHello().GetProtocolVersion() < 1 {
		t.Fatalf("%v, %v", hello, err)
	}
	for name, text := range map[string]string{"without a body": "", "with one": "all that goes comes back"} {
		var body bytes.Buffer
		if err := frame.Write(&body, head("ann", int64(len(text)), "")); err != nil {
			t.Fatal(err)
		}
		body.WriteString(text)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://tunnel/stream", &body)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer := &agentv1.StreamAnswer{}
		if err := frame.ReadMax(response.Body, answer, 1<<20); err != nil || answer.GetStatus() != 200 {
			t.Errorf("%s: %v, %v", name, answer, err)
		}
		if got, err := io.ReadAll(response.Body); err != nil || string(got) != text {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		_ = response.Body.Close()
	}
	ping, err := control.Control(t.Context(), connect.NewRequest(&agentv1.ControlRequest{Message: &agentv1.ControlRequest_Ping{Ping: &agentv1.TunnelPing{Number: 7}}}))
	if err != nil || !ping.Msg.GetPing().GetAnswer() || ping.Msg.GetPing().GetNumber() != 7 {
		t.Errorf("%v, %v", ping, err)
	}
}
