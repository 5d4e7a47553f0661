package tunnel_test

import (
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// A request for a cluster without a tunnel is answered with "retry" while its agent
// may be about to dial, and only then: kubectl retries ten times, and prints nothing
// until it gives up.
func TestOnlyWhatMayComeBackIsWorthAnotherTry(t *testing.T) {
	now := clock.NewManual(time.Unix(1e9, 0))
	h := startHub(t, newDirectory("c1", "c2"), func(c *hubConfig) { c.Clock = now })
	again := func(cluster string, want time.Duration) {
		t.Helper()
		_, err := h.Open(t.Context(), cluster, head("ann", 0, ""))
		if !errcode.Is(err, errcode.Unavailable) || !strings.Contains(err.Error(), "has no tunnel") || errcode.RetryAfter(err) != want {
			t.Errorf("cluster %s, again after %v: %v", cluster, errcode.RetryAfter(err), err)
		}
	}
	again("c1", 5*time.Second) // the hub has just started
	now.Advance(31 * time.Second)
	again("c1", 0)

	a := startAgent(t, dialer(h.url(), transportFor(h.server), "c1"), echo, nil)
	up(t, h, "c1")
	now.Advance(time.Hour)
	a.stop()
	state(t, h, "c1", "Down")
	again("c1", 5*time.Second)
	again("c2", 0)
	now.Advance(31 * time.Second)
	again("c1", 0)
}
