package hub

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/clock"
)

// TestCommitsAreFollowedBetweenTwoParts holds that work which is done in parts lets the
// other work come in between, and goes on without being asked again.
func TestCommitsAreFollowedBetweenTwoParts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var order []string
	done := make(chan struct{})
	parts := 0
	some := func(context.Context) (bool, error) {
		parts++
		order = append(order, "part")
		return parts < 3, nil
	}
	follow := func(context.Context) error {
		if order = append(order, "commits"); parts == 3 {
			cancel()
			close(done)
		}
		return nil
	}
	h := newHeads(func(string) {}, func() {}, clock.Real{}, slog.New(slog.DiscardHandler), some, all(follow))
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("the parts do not go on")
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	want := []string{"part", "commits", "part", "commits", "part", "commits"}
	if len(order) != len(want) {
		t.Fatalf("%v", order)
	}
	for i := range want {
		if order[i] != want[i] {
			t.Fatalf("%v", order)
		}
	}
}
