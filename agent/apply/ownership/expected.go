package ownership

import (
	"slices"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// Objects returns the objects of a service as they were applied, in order of
// application.
func (r *Registry) Objects(service string) []kubeobj.Expected {
	r.mu.RLock()
	defer r.mu.RUnlock()
	t := r.services[service]
	if t == nil || t.inventory == nil {
		return nil
	}
	entries := t.inventory.Sorted()
	slices.SortStableFunc(entries, func(a, b inventory.Entry) int {
		if a.Order.Before(b.Order) {
			return -1
		}
		if b.Order.Before(a.Order) {
			return 1
		}
		return 0
	})
	var all []kubeobj.Expected
	for _, entry := range entries {
		// A hook that has not run, or was deleted after its run, is not an object.
		if !entry.Leaving && (entry.UID != "" || !entry.Hook.Runs && entry.Order.Stage < wave.StageFail) {
			all = append(all, t.expected(entry))
		}
	}
	return all
}

// Expected returns one object as it was applied.
func (r *Registry) Expected(ref kubeobj.Ref) (kubeobj.Expected, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	t := r.services[r.owner[ref]]
	if t == nil || t.inventory == nil {
		return kubeobj.Expected{}, false
	}
	entry, ok := t.inventory.Entries[ref]
	if !ok || entry.Leaving {
		return kubeobj.Expected{}, false
	}
	return t.expected(entry), true
}

// ExpectedOf returns all applied objects of a kind.
func (r *Registry) ExpectedOf(kind kubeobj.Kind) []kubeobj.Expected {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var all []kubeobj.Expected
	for _, t := range r.services {
		if t.inventory == nil {
			continue
		}
		for _, entry := range t.inventory.Entries {
			if entry.Kind == kind && !entry.Leaving {
				all = append(all, t.expected(entry))
			}
		}
	}
	return all
}

func (t *State) expected(entry inventory.Entry) kubeobj.Expected {
	return kubeobj.Expected{Ref: entry.Ref, Kind: entry.Kind, Service: t.inventory.Service, UID: entry.UID, Print: entry.Print, Lost: entry.Lost,
		Once: entry.Once, Strict: t.inventory.Strict, Paused: t.paused, Held: t.running || entry.Hash == 0 || t.inventory.Phase == inventory.Draining || t.inventory.Beyond(entry)}
}

// Pause stops heals of a service until its next turn.
func (r *Registry) Pause(service string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.services[service]; t != nil {
		t.paused = true
	}
}

// Forget drops a removed service from memory.
func (r *Registry) Forget(service string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.services[service]
	if t == nil {
		return
	}
	r.countLocked(t, nil)
	r.claimLocked(t, nil)
	if t.inventory != nil {
		for ref := range t.inventory.Entries {
			r.disownLocked(ref, service)
		}
	}
	r.Claims.Forget(service)
	delete(r.services, service)
}
