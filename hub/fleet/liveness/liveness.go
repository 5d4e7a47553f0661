// Package liveness holds when each cluster polled last, as far as this replica
// knows. It is only in memory, about 100 B a cluster: a row per poll would be
// the hub's largest load. hub/fleet and the fleet's metrics read it. Callers
// pass in the times, and it starts no goroutines.
//
// Callers also tell it which clusters exist, so that a cluster that has been
// silent since the start is counted too.
//
// Invariants: a cluster is Stale after 3 of its poll intervals, Unknown for one
// interval after the start, and never Fresh without a poll.
package liveness

import (
	"sync"
	"time"
)

// Freshness says how current the shown state of a cluster is.
type Freshness string

// The closed list of values.
const (
	Fresh   Freshness = "Fresh"
	Stale   Freshness = "Stale"
	Unknown Freshness = "Unknown"
)

// staleAfter is how many poll intervals may pass before a cluster is Stale:
// one poll may be lost, and its retry delayed by jitter.
const staleAfter = 3

// Polls holds the last polls of all clusters. Times are microseconds since 1970
// UTC.
type Polls struct {
	mu       sync.Mutex
	polls    map[string]poll
	started  int64
	standard int64
}

type poll struct {
	at int64
	// interval is the agent's own, 0 while unknown.
	interval int64
	// Only registered clusters are counted.
	registered bool
}

// New returns an empty Polls; standard is assumed for agents that reported no
// interval.
func New(now int64, standard time.Duration) *Polls {
	return &Polls{polls: map[string]poll{}, started: now, standard: standard.Microseconds()}
}

// Seen records a poll; it may come from another replica.
func (l *Polls) Seen(clusterID string, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.polls[clusterID]
	p.at = max(p.at, at)
	l.polls[clusterID] = p
}

// SetInterval records how often a cluster polls; 0 is ignored.
func (l *Polls) SetInterval(clusterID string, interval int64) {
	if interval <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.polls[clusterID]
	p.interval = interval
	l.polls[clusterID] = p
}

// Load replaces the set of registered clusters, with the intervals of their
// agents.
func (l *Polls) Load(intervals map[string]int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, p := range l.polls {
		if _, there := intervals[id]; !there && p.registered {
			delete(l.polls, id)
		}
	}
	for id, interval := range intervals {
		l.registerLocked(id, interval)
	}
}

// Set updates which of some clusters are registered: those with an interval
// are.
func (l *Polls) Set(clusterIDs []string, intervals map[string]int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range clusterIDs {
		if interval, there := intervals[id]; there {
			l.registerLocked(id, interval)
		} else {
			delete(l.polls, id)
		}
	}
}

func (l *Polls) registerLocked(clusterID string, interval int64) {
	p := l.polls[clusterID]
	if p.registered = true; interval > 0 {
		p.interval = interval
	}
	l.polls[clusterID] = p
}

// Count returns the number of registered clusters by freshness. It examines
// each in memory, 1 ms for 20,000.
func (l *Polls) Count(now int64) map[Freshness]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := map[Freshness]int{}
	for _, p := range l.polls {
		if p.registered {
			n[l.freshness(p, now)]++
		}
	}
	return n
}

// Forget drops a deleted cluster.
func (l *Polls) Forget(clusterID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.polls, clusterID)
}

// Freshness returns how fresh a cluster is, and when it last polled, 0 for
// never.
func (l *Polls) Freshness(clusterID string, now int64) (Freshness, int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.polls[clusterID]
	return l.freshness(p, now), p.at
}

func (l *Polls) freshness(p poll, now int64) Freshness {
	interval := p.interval
	if interval == 0 {
		interval = l.standard
	}
	switch {
	case p.at == 0 && now-l.started < interval:
		return Unknown
	case p.at == 0, now-p.at > staleAfter*interval:
		return Stale
	}
	return Fresh
}
