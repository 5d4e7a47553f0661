package poll

import (
	"cmp"
	"time"

	"github.com/axle-cd/axle/internal/pool"
)

// Settings can change while the loop runs. Precedence: a flag, then these, then the
// hub's list, then the default. Zero means not set.
type Settings struct {
	// Interval between polls.
	Interval time.Duration
	// Whole is how often the cluster is reported to the hub without a change.
	Whole time.Duration
	// Passes is how many passes of one project may run at once.
	Passes int
}

// Configure applies settings at once.
func (l *Loop) Configure(s Settings) {
	l.mu.Lock()
	changed := l.settings != s
	l.settings = s
	l.mu.Unlock()
	l.running.Resize(passPlaces(s.Passes))
	if changed {
		l.config.Log.Info("the agent's settings changed", "poll", s.Interval, "ping", s.Whole, "passes", s.Passes)
		l.Poke()
		poke(l.work)
	}
}

// passPlaces is how many passes of all projects may run at once, if so many of one project may.
func passPlaces(each int) int { return pool.SizeFor(cmp.Or(each, workers)) }
