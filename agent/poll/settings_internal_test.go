package poll

import (
	"log/slog"
	"testing"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/pool"
)

// A flag wins over an AgentConfiguration, which wins over the hub, which wins
// over the default.
func TestPrecedenceOfThePollInterval(t *testing.T) {
	for name, test := range map[string]struct {
		fixed          bool
		settings, told time.Duration
		want           time.Duration
	}{
		"default":     {want: DefaultInterval},
		"hub":         {told: 30 * time.Second, want: 30 * time.Second},
		"settings":    {settings: time.Minute, told: 30 * time.Second, want: time.Minute},
		"flag":        {fixed: true, settings: time.Minute, told: 30 * time.Second, want: DefaultInterval},
		"never below": {told: time.Millisecond, want: MinInterval},
	} {
		var pools *pool.Set
		l := &Loop{
			config: Config{Interval: DefaultInterval, Fixed: test.fixed, Log: slog.New(slog.DiscardHandler)},
			list:   &agentv1.Desired{PollIntervalMicros: test.told.Microseconds()}, pollNow: make(chan struct{}, 1), work: make(chan struct{}, 1),
			running: pools.Places(pool.Spec{Name: "passes"}),
		}
		l.Configure(Settings{Interval: test.settings, Passes: 7})
		if got := l.interval(); got != test.want || l.running.Size() != 13 {
			t.Errorf("%s: every %s with %d passes, want %s", name, got, l.running.Size(), test.want)
		}
		if len(l.pollNow) != 1 || len(l.work) != 1 {
			t.Errorf("%s: a change does not act at once", name)
		}
		<-l.pollNow
		l.Configure(Settings{Interval: test.settings, Passes: 7})
		if len(l.pollNow) != 0 {
			t.Errorf("%s: what is no change polls", name)
		}
		l.Configure(Settings{})
		if l.running.Size() != 2*workers-1 {
			t.Errorf("%s: %d passes by default", name, l.running.Size())
		}
	}
}
