package tunnel_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/eventually"
)

// hoard answers at once and never reads the request; a stream with a body of known
// length is echoed.
func hoard(ctx context.Context, s *agentStream) {
	if s.Head().GetUpgrade() == "" {
		echo(ctx, s)
		return
	}
	if s.Answer(&agentv1.StreamAnswer{Status: 101}) == nil {
		<-ctx.Done()
	}
}

// TestStalledUploadsDontStopATunnel makes requests besides streams whose bodies a
// cluster does not read, at the hub that has the tunnel and at another replica.
func TestStalledUploadsDontStopATunnel(t *testing.T) {
	t.Parallel()
	_, hubs := startReplicas(t, newDirectory("c1"), "hub-0", "hub-1")
	startAgent(t, dialer(hubs["hub-0"].url(), transportFor(hubs["hub-0"].server), "c1"), hoard, nil)
	for _, name := range []string{"hub-0", "hub-1"} {
		h := hubs[name]
		up(t, h, "c1")
		const streams, chunk = 8, 32 << 10
		var sending sync.WaitGroup
		var sent [streams]atomic.Int64
		var open []*hubStream
		for n := range streams {
			s, err := h.Open(t.Context(), "c1", head(fmt.Sprintf("user-%d", n), -1, "hoard"))
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, s)
			if _, err := s.Answer(t.Context()); err != nil {
				t.Fatal(err)
			}
			sending.Go(func() {
				for range 64 { // far more than a stream's window
					if _, err := s.Write([]byte(big[:chunk])); err != nil {
						return
					}
					sent[n].Add(chunk)
				}
			})
		}
		eventually.For(t, soon, "every body goes as far as its own window", func() error {
			for n := range sent {
				if got := sent[n].Load(); got < 128<<10 {
					return fmt.Errorf("%d bytes of body %d went", got, n)
				}
			}
			return nil
		})
		mustAsk(t, h, "c1", big[:1<<20])
		for _, s := range open {
			s.Close()
		}
		sending.Wait()
	}
}
