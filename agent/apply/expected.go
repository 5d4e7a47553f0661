package apply

import (
	"slices"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// objects returns the objects of a service as they were applied, in order of
// application.
func (r *registry) objects(service string) []kubeobj.Expected {
	r.mu.RLock()
	defer r.mu.RUnlock()
	t := r.services[service]
	if t == nil || t.inventory == nil {
		return nil
	}
	entries := t.inventory.sorted()
	slices.SortStableFunc(entries, func(a, b entry) int {
		if a.order.before(b.order) {
			return -1
		}
		if b.order.before(a.order) {
			return 1
		}
		return 0
	})
	var all []kubeobj.Expected
	for _, entry := range entries {
		// A hook that has not run, or was deleted after its run, is not an object.
		if !entry.leaving && (entry.uid != "" || !entry.hook.runs && entry.order.Stage < stageFail) {
			all = append(all, t.expected(entry))
		}
	}
	return all
}

// expectedObject returns one object as it was applied.
func (r *registry) expectedObject(ref kubeobj.Ref) (kubeobj.Expected, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	t := r.services[r.owner[ref]]
	if t == nil || t.inventory == nil {
		return kubeobj.Expected{}, false
	}
	entry, ok := t.inventory.entries[ref]
	if !ok || entry.leaving {
		return kubeobj.Expected{}, false
	}
	return t.expected(entry), true
}

// expectedOf returns all applied objects of a kind.
func (r *registry) expectedOf(kind kubeobj.Kind) []kubeobj.Expected {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var all []kubeobj.Expected
	for _, t := range r.services {
		if t.inventory == nil {
			continue
		}
		for _, entry := range t.inventory.entries {
			if entry.kind == kind && !entry.leaving {
				all = append(all, t.expected(entry))
			}
		}
	}
	return all
}

func (t *serviceState) expected(entry entry) kubeobj.Expected {
	return kubeobj.Expected{Ref: entry.ref, Kind: entry.kind, Service: t.inventory.service, UID: entry.uid, Print: entry.print,
		Once: entry.once, Strict: t.inventory.strict, Paused: t.paused, Held: t.running || entry.hash == 0 || t.inventory.phase == phaseDraining || t.inventory.beyond(entry)}
}

// pause stops heals of a service until its next turn.
func (r *registry) pause(service string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.services[service]; t != nil {
		t.paused = true
	}
}

// forget drops a removed service from memory.
func (r *registry) forget(service string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.services[service]
	if t == nil {
		return
	}
	r.countLocked(t, nil)
	r.claimLocked(t, nil)
	if t.inventory != nil {
		for ref := range t.inventory.entries {
			r.disownLocked(ref, service)
		}
	}
	r.claims.forget(service)
	delete(r.services, service)
}
