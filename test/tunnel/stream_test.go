package tunnel_test

import (
	"testing"
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
