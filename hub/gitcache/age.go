package gitcache

import (
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/clock"
)

// ages remember when each upstream that this replica follows was last read.
type ages struct {
	clock clock.Clock

	mu   sync.Mutex
	read map[string]time.Time
}

// begin notes that a repository is followed from now on, and end that it is
// not any more.
func (a *ages) begin(repositoryID string) { a.good(repositoryID) }

func (a *ages) end(repositoryID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.read, repositoryID)
}

// good notes that an upstream was read.
func (a *ages) good(repositoryID string) {
	now := a.clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.read[repositoryID] = now
}

// oldest is the longest time since one was read, in seconds.
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
