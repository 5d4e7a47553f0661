package fleet

import (
	"sync"
	"time"
)

// staleAfter is how many poll intervals may pass before a cluster is Stale:
// one poll may be lost, and its retry delayed by jitter.
const staleAfter = 3

// liveness is when clusters polled last, as far as this replica knows. It is
// in memory alone, about 100 B a cluster: a row per poll would be the hub's
// largest load.
type liveness struct {
	mu       sync.Mutex
	polls    map[string]poll
	started  int64
	standard int64
}

type poll struct {
	at int64
	// interval is the agent's own, 0 while unknown.
	interval int64
}

func (l *liveness) start(now int64, standard time.Duration) {
	l.polls, l.started, l.standard = map[string]poll{}, now, standard.Microseconds()
}

func (l *liveness) seen(clusterID string, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.polls[clusterID]
	p.at = max(p.at, at)
	l.polls[clusterID] = p
}

func (l *liveness) setInterval(clusterID string, interval int64) {
	if interval <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.polls[clusterID]
	p.interval = interval
	l.polls[clusterID] = p
}

func (l *liveness) forget(clusterID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.polls, clusterID)
}

func (l *liveness) freshness(clusterID string, now int64) (Freshness, int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.polls[clusterID]
	interval := p.interval
	if interval == 0 {
		interval = l.standard
	}
	switch {
	case p.at == 0 && now-l.started < interval:
		return Unknown, 0
	case p.at == 0:
		return Stale, 0
	case now-p.at > staleAfter*interval:
		return Stale, p.at
	}
	return Fresh, p.at
}

// Seen notes an authenticated poll of a cluster's agent, in memory alone. The
// time may come from another replica.
func (f *Fleet) Seen(clusterID string, at time.Time) { f.liveness.seen(clusterID, at.UnixMicro()) }

// PollsSince returns the clusters that polled after a time, with when they
// did, for telling other replicas.
func (f *Fleet) PollsSince(at time.Time) map[string]time.Time {
	f.liveness.mu.Lock()
	defer f.liveness.mu.Unlock()
	polls := map[string]time.Time{}
	for id, p := range f.liveness.polls {
		if p.at > at.UnixMicro() {
			polls[id] = time.UnixMicro(p.at)
		}
	}
	return polls
}

// Freshness says how old the last poll of a cluster is, and when it was in
// microseconds, 0 when this replica knows of none.
func (f *Fleet) Freshness(clusterID string) (Freshness, int64) {
	return f.liveness.freshness(clusterID, f.now())
}
