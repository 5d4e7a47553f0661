package poll

import (
	"testing"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
)

// Hints of a fleet that changes one service after the other bring lists no
// closer than 1 ms for each service; the first one, few services, and a list
// from the disk wait for nothing.
func TestHintsRestAfterALargeList(t *testing.T) {
	start := time.Unix(1000, 0)
	for name, c := range map[string]struct {
		services int
		listed   bool
		after    time.Duration
		want     time.Duration
	}{
		"a burst over 2,000 services": {2000, true, 0, 2 * time.Second},
		"in the middle of its rest":   {2000, true, 400 * time.Millisecond, 1600 * time.Millisecond},
		"rested":                      {2000, true, 2 * time.Second, 0},
		"500 services":                {500, true, 0, 500 * time.Millisecond},
		"few services":                {100, true, 0, 0},
		"a list from the disk":        {2000, false, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			hands := clock.NewManual(start)
			l := &Loop{config: Config{Clock: hands}, list: &agentv1.Desired{Services: make([]*agentv1.DesiredService, c.services)}}
			if c.listed {
				l.listedAt = start
			}
			hands.Advance(c.after)
			if got := l.rest(); got != c.want {
				t.Errorf("it rests for %s, want %s", got, c.want)
			}
		})
	}
}

// While a loop rests, further hints become one poll.
func TestHintsWhileRestingBecomeOnePoll(t *testing.T) {
	hands := clock.NewManual(time.Unix(1000, 0))
	l := &Loop{config: Config{Clock: hands}, pollNow: make(chan struct{}, 1), listedAt: hands.Now(), list: &agentv1.Desired{Services: make([]*agentv1.DesiredService, 2000)}}
	done := make(chan bool)
	go func() { done <- l.rested(t.Context()) }()
	for waiting, _ := hands.Waiting(); waiting == 0; waiting, _ = hands.Waiting() {
		select {
		case <-done:
			t.Fatal("it did not rest")
		default:
		}
	}
	l.Poke()
	l.Poke()
	hands.Advance(2 * time.Second)
	if !<-done {
		t.Fatal("it ended without its context")
	}
	select {
	case <-l.pollNow:
		t.Error("a hint that came while it rested asks for one more poll")
	default:
	}
}
