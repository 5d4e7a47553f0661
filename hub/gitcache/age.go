package gitcache

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/axle-cd/axle/internal/clock"
)

var ownedByHealth = prometheus.NewDesc("axle_gitcache_repositories",
	"Repositories that this replica fetches, by whether the last read of upstream succeeded: pullable or failed.", []string{"health"}, nil)

// ages records when each upstream that this replica follows was last read, and
// whether the last read failed.
type ages struct {
	clock clock.Clock

	mu     sync.Mutex
	read   map[string]time.Time
	failed map[string]bool
}

func newAges(c clock.Clock) *ages {
	return &ages{clock: c, read: map[string]time.Time{}, failed: map[string]bool{}}
}

// begin records that a repository is followed from now on, and whether it
// failed before; end records that it is no longer followed.
func (a *ages) begin(repositoryID string, failed bool) {
	a.good(repositoryID)
	if failed {
		a.bad(repositoryID)
	}
}

func (a *ages) end(repositoryID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.read, repositoryID)
	delete(a.failed, repositoryID)
}

// good records that an upstream was read, and bad that a read failed.
func (a *ages) good(repositoryID string) {
	now := a.clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.read[repositoryID] = now
	delete(a.failed, repositoryID)
}

func (a *ages) bad(repositoryID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, followed := a.read[repositoryID]; followed {
		a.failed[repositoryID] = true
	}
}

// oldest returns the longest time since an upstream was read, in seconds.
func (a *ages) oldest() float64 {
	now := a.clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	oldest := time.Duration(0)
	for _, at := range a.read {
		oldest = max(oldest, now.Sub(at))
	}
	return oldest.Seconds()
}

// Describe implements prometheus.Collector.
func (a *ages) Describe(to chan<- *prometheus.Desc) { to <- ownedByHealth }

// Collect implements prometheus.Collector.
func (a *ages) Collect(to chan<- prometheus.Metric) {
	a.mu.Lock()
	failed, pullable := len(a.failed), len(a.read)-len(a.failed)
	a.mu.Unlock()
	to <- prometheus.MustNewConstMetric(ownedByHealth, prometheus.GaugeValue, float64(failed), "failed")
	to <- prometheus.MustNewConstMetric(ownedByHealth, prometheus.GaugeValue, float64(pullable), "pullable")
}
