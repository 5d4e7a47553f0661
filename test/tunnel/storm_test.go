package tunnel_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"
)

// waits records waits, and never lets them end.
type waits struct {
	mu    sync.Mutex
	asked []time.Duration
	all   chan struct{}
	want  int
}

func (w *waits) Now() time.Time { return time.Unix(1e9, 0) }

func (w *waits) After(d time.Duration) <-chan time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked = append(w.asked, d); len(w.asked) == w.want {
		close(w.all)
	}
	return nil
}

// TestThousandReconnectsAreSpread lets a thousand agents lose the hub in one
// moment: each tenth of the time gets about a tenth of their dials.
func TestThousandReconnectsAreSpread(t *testing.T) {
	t.Parallel()
	const agents, tenths = 1000, 10
	clock := &waits{all: make(chan struct{}), want: agents}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range agents {
		one, err := newAgentTunnel(agentConfig{
			Dial:  func(context.Context) (net.Conn, error) { return nil, errors.New("the hub is gone") },
			Clock: clock, FirstWait: tenths * time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() { _ = one.Run(ctx) })
	}
	<-clock.all
	cancel()
	running.Wait()
	var counts [tenths]int
	for _, d := range clock.asked {
		counts[min(int(d/time.Second), tenths-1)]++
	}
	for n, count := range counts {
		// A hundred, and six times what chance may do to it.
		if count < 40 || count > 160 {
			t.Errorf("%d of %d agents dial in tenth %d: %v", count, agents, n, counts)
		}
	}
}

// TestAllComeBack cuts the lines of a hundred agents at once.
func TestAllComeBack(t *testing.T) {
	t.Parallel()
	const agents = 100
	var names []string
	for n := range agents {
		names = append(names, "c"+string(rune('a'+n/26))+string(rune('a'+n%26)))
	}
	h := startHub(t, newDirectory(names...), nil)
	l := newLine(t, h.server.Listener.Addr().String())
	transport := transportFor(h.server)
	var all []*agent
	for _, name := range names {
		all = append(all, startAgent(t, dialer("https://"+l.addr(), transport, name), echo, func(c *agentConfig) { c.FirstWait = time.Second }))
	}
	for _, name := range names {
		up(t, h, name)
	}
	l.cut()
	for n, a := range all {
		dials(t, a, 2)
		state(t, h, names[n], isUp)
	}
	mustAsk(t, h, names[0], "after")
}

// TestStoppingReplicaLetsRequestsEnd stops a hub in the midst of an answer.
func TestStoppingReplicaLetsRequestsEnd(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1"), func(c *hubConfig) { c.Drain = soon })
	asked, go1 := make(chan struct{}), make(chan struct{})
	startAgent(t, dialer(h.url(), transportFor(h.server), "c1"), func(ctx context.Context, s *agentStream) {
		close(asked)
		<-go1
		echo(ctx, s)
	}, nil)
	up(t, h, "c1")
	answered := make(chan error, 1)
	go func() {
		got, err := ask(t.Context(), h, "c1", "x")
		if err == nil && got != "x" {
			err = errNever
		}
		answered <- err
	}()
	<-asked
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		h.stop()
	}()
	close(go1)
	if err := <-answered; err != nil {
		t.Errorf("the request under way: %v", err)
	}
	<-stopped
}
