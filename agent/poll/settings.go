package poll

import "time"

// Settings can change while the loop runs. Precedence: a flag, then these, then the
// hub's list, then the default. Zero means not set.
type Settings struct {
	// Interval between polls.
	Interval time.Duration
	// Whole is how often the cluster is reported to the hub without a change.
	Whole time.Duration
	// Passes is how many passes may run at once.
	Passes int
}

// Configure applies settings at once.
func (l *Loop) Configure(s Settings) {
	l.mu.Lock()
	changed := l.settings != s
	l.settings = s
	l.mu.Unlock()
	if changed {
		l.config.Log.Info("the agent's settings changed", "poll", s.Interval, "ping", s.Whole, "passes", s.Passes)
		l.Poke()
		poke(l.work)
	}
}

// slots is how many passes may run at once.
func (l *Loop) slots() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.settings.Passes > 0 {
		return l.settings.Passes
	}
	return workers
}
