package tunnel_test

import (
	"context"
	"io"
	"testing"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

func TestStreamsCarryBothWays(t *testing.T) {
	d := newDirectory("c1")
	h := startHub(t, d, nil)
	a := startAgent(t, dialer(h.url(), transportFor(h.server), "c1"), echo, nil)
	up(t, h, "c1")
	for _, text := range []string{"", "x", big} {
		mustAsk(t, h, "c1", text)
	}
	if s := a.Status(); !s.Up || s.Streams != 3 || s.Replica != "hub-0" {
		t.Errorf("the agent says %+v", s)
	}
}

// Data that an agent sends together with the head of an upgraded answer is available
// once the head is, and before the rest.
func TestFirstBytesComeWithTheAnswer(t *testing.T) {
	goOn := make(chan struct{})
	h := startHub(t, newDirectory("c1"), nil)
	startAgent(t, dialer(h.url(), transportFor(h.server), "c1"), func(ctx context.Context, s *agentStream) {
		if s.Begin(&agentv1.StreamAnswer{Status: 101}) != nil {
			return
		}
		// A client that is gone receives nothing.
		_, _ = io.WriteString(s, "first, ")
		_ = s.Flush()
		select {
		case <-goOn:
			_, _ = io.WriteString(s, "and last")
		case <-ctx.Done():
		}
	}, nil)
	up(t, h, "c1")
	s, err := h.Open(t.Context(), "c1", head("ann", -1, "websocket"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if a, err := s.Answer(t.Context()); err != nil || a.GetStatus() != 101 {
		t.Fatalf("answered %v, %v", a, err)
	}
	said := ""
	for _, want := range []string{"fir", "st,", " ", ""} {
		p := make([]byte, 3)
		n, err := s.ReadNow(p)
		if err != nil || string(p[:n]) != want {
			t.Errorf("with the answer came %q, %v; want %q", p[:n], err, want)
		}
		said += string(p[:n])
	}
	close(goOn)
	rest, err := io.ReadAll(s)
	if said += string(rest); err != nil || said != "first, and last" {
		t.Errorf("it said %q, %v", said, err)
	}
}
