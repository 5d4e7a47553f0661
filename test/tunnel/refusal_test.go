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

// TestDialsAreBounded dials more often than a hub takes connections: some are
// told to come again, before anybody looks at their tokens.
func TestDialsAreBounded(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1"), nil)
	eventually.For(t, soon, "a dial is put off", func() error {
		for range 3000 {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, hubPath, nil))
			switch w.Code {
			case http.StatusServiceUnavailable:
				if w.Header().Get("Retry-After") == "" {
					t.Error("it is not said when to come again")
				}
				return nil
			case http.StatusUnauthorized:
			default:
				t.Errorf("a dial without a token: HTTP %d", w.Code)
			}
		}
		return fmt.Errorf("3000 were taken at once")
	})
}
