package kubeclient

import (
	"context"
	"sync"
)

// Gate bounds the number of concurrent requests. The bound halves when the API server
// answers 429 and grows by one for each full round of successful answers.
type Gate struct {
	mu      sync.Mutex
	max     float64
	limit   float64
	busy    int
	waiting []chan struct{}
}

// NewGate returns a gate for limit concurrent requests.
func NewGate(limit int) *Gate { return &Gate{max: float64(limit), limit: float64(limit)} }

// enter waits for a slot. The caller must call leave.
func (g *Gate) enter(ctx context.Context) error {
	g.mu.Lock()
	if ctx.Err() == nil && float64(g.busy) < g.limit {
		g.busy++
		g.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	g.waiting = append(g.waiting, turn)
	g.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		g.giveUp(turn)
		return ctx.Err()
	}
}

// giveUp leaves the queue, or returns the slot that arrived meanwhile.
func (g *Gate) giveUp(turn chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, t := range g.waiting {
		if t == turn {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
			return
		}
	}
	g.busy--
	g.admit()
}

func (g *Gate) leave(throttled bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy--
	if throttled {
		g.limit = max(1, g.limit/2)
	} else {
		g.limit = min(g.max, g.limit+1/g.limit)
	}
	g.admit()
}

func (g *Gate) admit() {
	for len(g.waiting) > 0 && float64(g.busy) < g.limit {
		close(g.waiting[0])
		g.waiting = g.waiting[1:]
		g.busy++
	}
}
