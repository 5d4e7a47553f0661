package ownership

import (
	"slices"
	"sync"
)

// Registrations are the ended registrations of this cluster, as signed by the hub.
// Its methods are safe for concurrent use.
type Registrations struct {
	mu    sync.RWMutex
	ended map[string]bool
	clear []string
}

func (r *Registrations) has(cluster string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.ended[cluster]
}

// Put replaces the known registrations, and returns those that may have left
// something.
func (r *Registrations) Put(clusters []string) (left []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = map[string]bool{}
	for _, id := range clusters {
		r.ended[id] = true
		if !slices.Contains(r.clear, id) {
			left = append(left, id)
		}
	}
	return left
}

// Released records that nothing of a registration is left.
func (r *Registrations) Released(cluster string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clear = append(r.clear, cluster)
}
