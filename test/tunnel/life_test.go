package tunnel_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// dials waits until an agent has dialled n times.
func dials(t testing.TB, a *agent, n int64) {
	t.Helper()
	eventually.For(t, soon, fmt.Sprintf("the agent dials %d times", n), func() error {
		if s := a.Status(); s.Dials < n || !s.Up {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
}

// TestHalfOpenConnectionIsFoundWhenIdle lets the line fall silent: both ends
// find out by themselves.
func TestHalfOpenConnectionIsFoundWhenIdle(t *testing.T) {
	t.Parallel()
	for name, short := range map[string]struct{ hub, agent time.Duration }{
		"by the hub":   {hub: 100 * time.Millisecond, agent: time.Hour},
		"by the agent": {hub: time.Hour, agent: 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := startHub(t, newDirectory("c1"), func(c *hubConfig) { c.PingAfter, c.AnswerWithin = short.hub, 50*short.hub })
			l := newLine(t, h.server.Listener.Addr().String())
			a := startAgent(t, dialer("https://"+l.addr(), transportFor(h.server), "c1"), echo, func(c *agentConfig) {
				c.PingAfter, c.AnswerWithin = short.agent, 50*short.agent
			})
			up(t, h, "c1")
			mustAsk(t, h, "c1", "before")
			l.hush()
			// The side that notices closes it, and the connection closes the other
			// end.
			dials(t, a, 2)
			up(t, h, "c1")
			mustAsk(t, h, "c1", "after")
		})
	}
}

// TestHalfOpenConnectionIsFoundWhenARequestWaits asks along a silent line that
// no end would look after by itself.
func TestHalfOpenConnectionIsFoundWhenARequestWaits(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1"), func(c *hubConfig) {
		c.DoubtAfter, c.ProofWithin, c.PingAfter = 100*time.Millisecond, time.Second, time.Hour
	})
	l := newLine(t, h.server.Listener.Addr().String())
	a := startAgent(t, dialer("https://"+l.addr(), transportFor(h.server), "c1"), echo, func(c *agentConfig) { c.PingAfter = time.Hour })
	up(t, h, "c1")
	l.hush()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if _, err := ask(ctx, h, "c1", "x"); !errcode.Is(err, errcode.Unavailable) || ctx.Err() != nil {
		t.Fatalf("a request on a dead line: %v", err)
	}
	dials(t, a, 2)
}

// TestSlowAnswerIsNoDeadTunnel doubts a tunnel whose agent lives.
func TestSlowAnswerIsNoDeadTunnel(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1"), func(c *hubConfig) {
		c.DoubtAfter, c.ProofWithin = 50*time.Millisecond, 30*time.Second
	})
	go1 := make(chan struct{})
	a := startAgent(t, dialer(h.url(), transportFor(h.server), "c1"), func(ctx context.Context, s *agentStream) {
		<-go1
		echo(ctx, s)
	}, nil)
	up(t, h, "c1")
	answered := make(chan error, 1)
	go func() {
		_, err := ask(t.Context(), h, "c1", "x")
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Fatalf("answered before the cluster did: %v", err)
	case <-time.After(500 * time.Millisecond): // ten doubts long
	}
	close(go1)
	if err := <-answered; err != nil {
		t.Errorf("a slow answer: %v", err)
	}
	if a.Status().Dials != 1 {
		t.Errorf("the agent dialled anew: %+v", a.Status())
	}
}

// TestRevokedWhileStreaming revokes the token.
func TestRevokedWhileStreaming(t *testing.T) {
	t.Parallel()
	d := newDirectory("c1", "c2")
	h := startHub(t, d, nil)
	var agents []*agent
	for _, c := range []string{"c1", "c2"} {
		agents = append(agents, startAgent(t, dialer(h.url(), transportFor(h.server), c), flood, nil))
		up(t, h, c)
	}
	gone, stays := stall(t, h, "c1", 0), stall(t, h, "c2", 0)
	defer gone.Close()
	defer stays.Close()
	d.set(func() { delete(d.tokens, "axle_c1") })
	if err := h.Apply(t.Context(), []event.Row{{Change: event.Change{Kind: event.KindToken, Key: "axle_c1", Cluster: "c1"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, gone); !errcode.Is(err, errcode.Unavailable) {
		t.Errorf("the stream of the revoked one ends with %v", err)
	}
	state(t, h, "c1", isDown)
	eventually.For(t, soon, "the agent says why", func() error {
		if err := agents[0].Status().Err; err == nil || !strings.Contains(err.Error(), "the hub does not accept this agent's token") {
			return fmt.Errorf("it says %v", err)
		}
		return nil
	})
	if _, err := io.CopyN(io.Discard, stays, 1<<20); err != nil {
		t.Errorf("the stream of the other cluster: %v", err)
	}
}

// lateRevocation revokes a token after it was checked.
type lateRevocation struct{ *directory }

func (l lateRevocation) Authenticate(ctx context.Context, bearer string) (identity.Principal, error) {
	p, err := l.directory.Authenticate(ctx, bearer)
	l.set(func() { delete(l.tokens, bearer) })
	return p, err
}

// TestRevokedWhileItDials revokes the token between the dial and the tunnel: the
// feed's row finds no connection to close, and yet the connection is closed.
func TestRevokedWhileItDials(t *testing.T) {
	t.Parallel()
	d := newDirectory("c1")
	h := startHub(t, d, func(c *hubConfig) { c.Identity = lateRevocation{d} })
	a := startAgent(t, dialer(h.url(), transportFor(h.server), "c1"), echo, nil)
	eventually.For(t, soon, "the agent is sent away", func() error {
		if s := a.Status(); s.Dials == 0 || s.Up || s.Err == nil || !strings.Contains(s.Err.Error(), "the hub does not accept this agent's token") {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	state(t, h, "c1", isDown)
}

// TestReplacedTokenKeepsStreams dials again with the new token, while a stream on the
// old connection continues.
func TestReplacedTokenKeepsStreams(t *testing.T) {
	t.Parallel()
	d := newDirectory("c1")
	h := startHub(t, d, nil)
	a := startAgent(t, func(ctx context.Context) (net.Conn, error) {
		bearer := "c1"
		d.set(func() {
			if d.tokens["axle_c1"] == "" {
				bearer = "next"
			}
		})
		return dialer(h.url(), transportFor(h.server), bearer)(ctx)
	}, flood, nil)
	up(t, h, "c1")
	s := stall(t, h, "c1", 0)
	defer s.Close()
	d.set(func() {
		delete(d.tokens, "axle_c1")
		d.tokens["axle_next"] = "c1"
	})
	if err := h.Apply(t.Context(), []event.Row{{Change: event.Change{Kind: event.KindToken, Key: "axle_c1", Cluster: "c1"}}}); err != nil {
		t.Fatal(err)
	}
	dials(t, a, 2)
	mustAsk(t, h, "c1", "along the new connection")
	if _, err := io.CopyN(io.Discard, s, 1<<20); err != nil {
		t.Errorf("the stream along the old connection: %v", err)
	}
}

// TestHandOverFailsNoRequest asks all the time while connections are replaced.
func TestHandOverFailsNoRequest(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1"), func(c *hubConfig) { c.MaxLife, c.LifeSpread = 100*time.Millisecond, time.Millisecond })
	a := startAgent(t, dialer(h.url(), transportFor(h.server), "c1"), echo, nil)
	up(t, h, "c1")
	var asked atomic.Int64
	var asking sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for range 4 {
		asking.Go(func() {
			for ctx.Err() == nil {
				if got, err := ask(t.Context(), h, "c1", big[:50_000]); err != nil || len(got) != 50_000 {
					t.Errorf("request %d: %d bytes, %v", asked.Load(), len(got), err)
					return
				}
				asked.Add(1)
			}
		})
	}
	dials(t, a, 6)
	stop()
	asking.Wait()
	if asked.Load() == 0 {
		t.Error("nothing was asked")
	}
}

// TestCutMidStream cuts the line in the midst of an answer.
func TestCutMidStream(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1"), nil)
	l := newLine(t, h.server.Listener.Addr().String())
	a := startAgent(t, dialer("https://"+l.addr(), transportFor(h.server), "c1"), flood, nil)
	up(t, h, "c1")
	s := stall(t, h, "c1", 0)
	defer s.Close()
	l.cut()
	_, err := io.Copy(io.Discard, s)
	if want := "the tunnel to cluster c1 broke off; try again"; !errcode.Is(err, errcode.Unavailable) || err.Error() != want {
		t.Errorf("the reader hears %v", err)
	}
	dials(t, a, 2)
	up(t, h, "c1")
	mustAsk(t, h, "c1", "after")
}

// TestNewestConnectionWins lets a second agent take the tunnel over.
func TestNewestConnectionWins(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1"), nil)
	who := func(name string) cluster {
		return func(_ context.Context, s *agentStream) { failWith(s, name) }
	}
	first := startAgent(t, dialer(h.url(), transportFor(h.server), "c1"), who("first"), func(c *agentConfig) { c.FirstWait = time.Hour })
	up(t, h, "c1")
	startAgent(t, dialer(h.url(), transportFor(h.server), "c1"), who("second"), nil)
	eventually.For(t, soon, "the second answers", func() error {
		_, err := ask(t.Context(), h, "c1", "")
		if err == nil || err.Error() != "second" {
			return fmt.Errorf("%v", err)
		}
		return nil
	})
	eventually.For(t, soon, "the first is let go", func() error {
		if first.Status().Up {
			return fmt.Errorf("it is up")
		}
		return nil
	})
	if s, _ := h.State("c1"); s != isUp {
		t.Errorf("the cluster is %s", s)
	}
}

// failWith gives no answer but a reason.
func failWith(s *agentStream, why string) {
	s.Fail(errcode.New(errcode.Unavailable, "%s", why))
}

// TestClusterWithoutTunnelSaysWhatToDo asks a cluster that is not there.
func TestClusterWithoutTunnelSaysWhatToDo(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1"), nil)
	_, err := h.Open(t.Context(), "c1", head("ann", 0, ""))
	if !errcode.Is(err, errcode.Unavailable) || !strings.Contains(err.Error(), "axle-agent doctor") {
		t.Errorf("%v", err)
	}
	if s, since := h.State("c1"); s != isDown || since != 0 {
		t.Errorf("it is %s since %d", s, since)
	}
	off := &agentDialer{URL: h.url(), Transport: transportFor(h.server), Authorization: func() string { return "Bearer axle_c1" }, Off: true}
	if conn, err := off.Dial(t.Context()); conn != nil || err != nil {
		t.Fatalf("an agent without a tunnel: %v, %v", conn, err)
	}
	state(t, h, "c1", isOff)
}
