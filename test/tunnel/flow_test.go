package tunnel_test

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// flood answers at once and then sends until the reader stops; a stream with a body
// of known length is echoed.
func flood(ctx context.Context, s *agentStream) {
	if s.Head().GetUpgrade() == "" {
		echo(ctx, s)
		return
	}
	if s.Answer(&agentv1.StreamAnswer{Status: 101}) != nil {
		return
	}
	buf := make([]byte, 32<<10)
	for ctx.Err() == nil {
		if _, err := s.Write(buf); err != nil {
			return
		}
	}
}

// stall opens a stream whose answer is not read.
func stall(t testing.TB, h *hub, cluster string, n int) *hubStream {
	t.Helper()
	s, err := h.Open(t.Context(), cluster, head(fmt.Sprintf("user-%d", n), -1, "flood"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Answer(t.Context()); err != nil {
		t.Fatal(err)
	}
	// One byte, so that the caller has something that it cannot get rid of.
	if _, err := s.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStalledStreamsDontStopATunnel makes requests besides 1 to 50 streams that are
// not read, directly and behind a proxy that terminates TLS.
func TestStalledStreamsDontStopATunnel(t *testing.T) {
	for _, way := range []string{"direct", "terminating proxy"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			h := startHub(t, newDirectory("c1"), nil)
			url, transport := h.url(), transportFor(h.server)
			if way != "direct" {
				p := terminate(t, h)
				url, transport = p.URL, transportFor(p)
			}
			startAgent(t, dialer(url, transport, "c1"), flood, nil)
			up(t, h, "c1")
			for n := range 50 {
				s := stall(t, h, "c1", n)
				defer s.Close()
				if n < 5 || n%15 == 0 || n == 49 {
					mustAsk(t, h, "c1", big[:1<<20])
				}
			}
		})
	}
}

// TestStalledStreamIsClosed closes a stream whose client does not read.
func TestStalledStreamIsClosed(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1"), func(c *hubConfig) { c.StallAfter = 200 * time.Millisecond })
	startAgent(t, dialer(h.url(), transportFor(h.server), "c1"), flood, nil)
	up(t, h, "c1")
	s := stall(t, h, "c1", 0)
	select {
	case <-s.Context().Done():
	case <-time.After(soon):
		t.Fatal("a stream that nobody reads is still open")
	}
	_, err := io.Copy(io.Discard, s)
	if want := "the client read nothing for 30 s while an answer waited, so the request was closed"; err == nil || err.Error() != want {
		t.Errorf("the reader hears %v", err)
	}
	mustAsk(t, h, "c1", "still there")
}

// TestNextStreamIsRefusedWithTheTopUsers fills a cluster's streams: the last tenth is for
// administrators.
func TestNextStreamIsRefusedWithTheTopUsers(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1", "c2"), func(c *hubConfig) { c.MaxPerCluster, c.MaxPerHub = 10, 13 })
	for _, c := range []string{"c1", "c2"} {
		startAgent(t, dialer(h.url(), transportFor(h.server), c), flood, nil)
		up(t, h, c)
	}
	var open []*hubStream
	for _, of := range []int{0, 0, 0, 1, 1, 2, 3, 4, 5} {
		open = append(open, stall(t, h, "c1", of))
	}
	refused := func(as *agentv1.StreamHead, cluster, want string) {
		t.Helper()
		_, err := h.Open(t.Context(), cluster, as)
		if !errcode.Is(err, errcode.Exhausted) || errcode.RetryAfter(err) == 0 || errcode.Message(err) != want {
			t.Errorf("the next one: %v", err)
		}
	}
	refused(head("eve", 0, ""), "c1", "the last 1 of 10 places for requests to cluster c1 are for administrators (user-0 3, user-1 2, user-2 1, 3 others); your share is 0 now, and you have 0; try again in 5 s (pool cluster_requests)")
	admin := func() *agentv1.StreamHead {
		as := head("root", -1, "flood")
		as.Identity.Groups = []string{identity.AdminsGroup}
		return as
	}
	s, err := h.Open(t.Context(), "c1", admin())
	if err != nil {
		t.Fatal(err)
	}
	open = append(open, s)
	refused(admin(), "c1", "all 10 places for requests to cluster c1 are taken (user-0 3, user-1 2, root 1, 4 others); your share is all of them now, and you have 1; try again in 5 s (pool cluster_requests)")
	open = append(open, stall(t, h, "c2", 6), stall(t, h, "c2", 7))
	refused(head("eve", 0, ""), "c2", "the last 1 of 13 places for requests to clusters through this replica are for administrators; your share is 0 now, and you have 0; try again in 5 s (pool replica_requests)")
	for _, s := range open {
		s.Close()
	}
	eventually.For(t, soon, "there is room again", func() error {
		s, err := h.Open(t.Context(), "c1", head("eve", 0, ""))
		if err == nil {
			s.Close()
		}
		return err
	})
}

// TestOneCallerHasAHalfOfTheStreams: who opens as many as possible refuses nobody else.
func TestOneCallerHasAHalfOfTheStreams(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1"), func(c *hubConfig) { c.MaxPerCluster, c.MaxPerHub = 10, 100 })
	startAgent(t, dialer(h.url(), transportFor(h.server), "c1"), flood, nil)
	up(t, h, "c1")
	var open []*hubStream
	for range 5 {
		open = append(open, stall(t, h, "c1", 0))
	}
	const want = "your share of the 10 places for requests to cluster c1 is 5 now, and you have 5; end some; try again in 5 s (pool cluster_requests)"
	if _, err := h.Open(t.Context(), "c1", head("user-0", 0, "")); !errcode.Is(err, errcode.Exhausted) || errcode.RetryAfter(err) == 0 || errcode.Message(err) != want {
		t.Errorf("the next one: %v", err)
	}
	for n := range 4 {
		open = append(open, stall(t, h, "c1", 1+n))
	}
	for _, s := range open {
		s.Close()
	}
}

// TestManyStreamsAtOnce asks from many at once.
func TestManyStreamsAtOnce(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1"), nil)
	startAgent(t, dialer(h.url(), transportFor(h.server), "c1"), echo, nil)
	up(t, h, "c1")
	var asking sync.WaitGroup
	for n := range 200 {
		asking.Go(func() {
			text := fmt.Sprintf("%d %s", n, big[:n*100])
			if got, err := ask(t.Context(), h, "c1", text); err != nil || got != text {
				t.Errorf("request %d: %d bytes of %d, %v", n, len(got), len(text), err)
			}
		})
	}
	asking.Wait()
}
