package poll

import "time"

// Settings are what may change while the loop runs. Zero leaves a setting to
// the others: a flag, then this, then the hub's list, then the default.
type Settings struct {
	// Interval between polls.
	Interval time.Duration
	// Whole is how often the hub is told of the cluster although nothing
	// changed.
	Whole time.Duration
	// Passes is how many services are brought through a pass at once.
	Passes int
}

// Configure takes settings over at once.
func (l *Loop) Configure(s Settings) {
	l.mu.Lock()
	changed := l.settings != s
	l.settings = s
	l.mu.Unlock()
	if changed {
		l.Log.Info("the agent's settings changed", "poll", s.Interval, "ping", s.Whole, "passes", s.Passes)
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
