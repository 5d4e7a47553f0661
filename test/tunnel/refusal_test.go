package tunnel_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// TestAgentThatLetsNobodyIn has a tunnel for hints alone.
func TestAgentThatLetsNobodyIn(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1"), nil)
	startAgent(t, dialer(h.url(), transportFor(h.server), "c1"), nil, func(c *agentConfig) { c.Streams = nil })
	up(t, h, "c1")
	if got, err := ask(t.Context(), h, "c1", ""); err == nil || err.Error() != "this agent allows no access to its cluster" {
		t.Errorf("%q came back, %v", got, err)
	}
}

// TestAgentRefusesStreamsInNobodysName: if a hub sends a request without a user, the
// agent itself refuses it.
func TestAgentRefusesStreamsInNobodysName(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	served := make(chan string, 10)
	startAgent(t, func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", l.Addr().String())
	}, func(ctx context.Context, s *agentStream) {
		served <- s.Head().GetIdentity().GetUser()
		echo(ctx, s)
	}, nil)
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	along := &http.Transport{Protocols: &protocols, DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}
	defer along.CloseIdleConnections()
	for user, want := range map[string]string{"ann": "", "": "the stream names no user"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://tunnel/stream", bytes.NewReader(frameOf(t, head(user, 0, ""))))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := along.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if said := answer.Trailer.Get("Axle-Failure"); err != nil || said != want {
			t.Errorf("a stream of %q ends with %q, %v; want %q", user, said, err, want)
		}
	}
	close(served)
	for user := range served {
		if user != "ann" {
			t.Errorf("the cluster was asked by %q", user)
		}
	}
}

// TestHeadIsBounded sends more headers than an agent would read: the hub reports the
// problem, and the tunnel stays.
func TestHeadIsBounded(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1"), nil)
	startAgent(t, dialer(h.url(), transportFor(h.server), "c1"), echo, nil)
	up(t, h, "c1")
	long := head("ann", 0, "")
	long.Headers = []*agentv1.StreamHeader{{Name: "Long", Values: []string{strings.Repeat("x", 2<<20)}}}
	if s, err := h.Open(t.Context(), "c1", long); !errcode.Is(err, errcode.Invalid) || errcode.Message(err) != "the request's headers are too long" {
		t.Errorf("a head of 2 MiB: %v", err)
		if err == nil {
			s.Close()
		}
	}
	mustAsk(t, h, "c1", "after")
}

// TestDialsAreBounded dials more often than a hub takes connections: whoever has no token is
// refused each time, and takes no agent's place; one cluster has a share.
func TestDialsAreBounded(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1", "c2"), nil)
	dial := func(token string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, hubPath, nil)
		r.Header.Set("Authorization", token)
		h.ServeHTTP(w, r)
		return w
	}
	for range 3000 {
		if w := dial("Bearer nobody"); w.Code != http.StatusUnauthorized {
			t.Fatalf("a dial without a token: HTTP %d", w.Code)
		}
	}
	eventually.For(t, soon, "a dial of one cluster is put off", func() error {
		for range 100 {
			switch w := dial("Bearer axle_c1"); w.Code {
			case http.StatusTooManyRequests:
				if w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "(pool tunnel_dials)") {
					t.Errorf("it is told %v %s", w.Header(), w.Body)
				}
				return nil
			case http.StatusBadRequest: // it is no WebSocket
			default:
				t.Errorf("a dial with a token: HTTP %d", w.Code)
			}
		}
		return fmt.Errorf("100 were taken at once")
	})
	if w := dial("Bearer axle_c2"); w.Code != http.StatusBadRequest {
		t.Errorf("another cluster's dial: HTTP %d", w.Code)
	}
}
