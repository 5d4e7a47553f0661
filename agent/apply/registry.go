package apply

import (
	"slices"
	"sync"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// registry holds the services of the cluster in memory, and which of them has an
// object. It makes no requests and is safe for concurrent use. An inventory in it is
// never changed, only replaced.
type registry struct {
	// cluster is this cluster's id.
	cluster string
	// claims are objects that services render and other services have.
	claims *claims
	// former are the ended registrations of this cluster.
	former registrations

	mu       sync.RWMutex
	services map[string]*serviceState
	// owner is the service whose inventory has an object. While an object moves, the
	// last inventory written wins.
	owner map[kubeobj.Ref]string
	// shared holds the services of objects in more than one inventory: a few, while
	// they move.
	shared map[kubeobj.Ref]map[string]bool
	// inUse counts, per kind, the services that have it in their inventory or their
	// present pass.
	inUse map[kubeobj.Kind]int
}

func newRegistry(cluster string) *registry {
	return &registry{cluster: cluster, claims: newClaims(), services: map[string]*serviceState{}, owner: map[kubeobj.Ref]string{},
		shared: map[kubeobj.Ref]map[string]bool{}, inUse: map[kubeobj.Kind]int{}}
}

// serviceState is one service in memory.
type serviceState struct {
	// turn is held while a pass, a heal or a drain runs.
	turn sync.Mutex

	// The fields below are guarded by registry.mu.
	inventory *inventory
	// running: a pass is running. paused: nothing may be put back. stale: the
	// inventory must be read again.
	running, paused, stale bool
	// claimed are the kinds of the present pass, has those of the inventory.
	claimed []kubeobj.Kind
	has     map[kubeobj.Kind]bool
}

// begin waits for a service's turn. The caller must call end.
func (r *registry) begin(service string) *serviceState {
	for {
		r.mu.Lock()
		t := r.stateLocked(service)
		r.mu.Unlock()
		t.turn.Lock()
		r.mu.Lock()
		if r.services[service] == t {
			t.running, t.paused = true, false
			r.mu.Unlock()
			return t
		}
		// The service left while this call waited.
		r.mu.Unlock()
		t.turn.Unlock()
	}
}

// end ends a turn, and returns the objects of the service.
func (r *registry) end(t *serviceState) []kubeobj.Ref {
	r.mu.Lock()
	t.running = false
	r.claimLocked(t, nil)
	var refs []kubeobj.Ref
	if t.inventory != nil {
		for ref := range t.inventory.entries {
			refs = append(refs, ref)
		}
	}
	r.mu.Unlock()
	t.turn.Unlock()
	return refs
}

// interject takes a service's turn between two passes: known is false if the service
// is not on this cluster, and a nil state says that a pass runs. The caller must call
// done.
func (r *registry) interject(service string) (t *serviceState, known bool) {
	r.mu.RLock()
	t = r.services[service]
	r.mu.RUnlock()
	if t == nil {
		return nil, false
	}
	if !t.turn.TryLock() {
		return nil, true
	}
	return t, true
}

func (t *serviceState) done() { t.turn.Unlock() }

// known returns a service's inventory, nil if it has none, and whether it must be read
// again.
func (r *registry) known(t *serviceState) (i *inventory, stale bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return t.inventory, t.stale
}

// isPaused reports whether nothing of a service may be put back.
func (r *registry) isPaused(t *serviceState) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return t.paused
}

// inventoryOf returns the inventory of a service, nil if it has none.
func (r *registry) inventoryOf(service string) *inventory {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if t := r.services[service]; t != nil {
		return t.inventory
	}
	return nil
}

// markStale says whether an inventory must be read again.
func (r *registry) markStale(t *serviceState, stale bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.stale = stale
}

// unread says that the inventory of a service could not be read.
func (r *registry) unread(service string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stateLocked(service).stale = true
}

// adopt takes an inventory that was read.
func (r *registry) adopt(i *inventory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.stateLocked(i.service)
	t.stale = false
	r.commitLocked(t, i)
}

// commit makes i a service's known inventory.
func (r *registry) commit(t *serviceState, i *inventory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commitLocked(t, i)
}

// claim records the kinds of a service's pass.
func (r *registry) claim(t *serviceState, kinds []kubeobj.Kind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.claimLocked(t, kinds)
}

// namespaceUsed reports whether a service other than one uses a namespace.
func (r *registry) namespaceUsed(service, namespace string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for id, t := range r.services {
		if id == service || t.inventory == nil {
			continue
		}
		if t.inventory.namespace == namespace {
			return true
		}
		for ref := range t.inventory.entries {
			if ref.Namespace == namespace {
				return true
			}
		}
	}
	return false
}

func (r *registry) stateLocked(id string) *serviceState {
	t := r.services[id]
	if t == nil {
		t = &serviceState{}
		r.services[id] = t
	}
	return t
}

// commitLocked is commit with mu held.
func (r *registry) commitLocked(t *serviceState, i *inventory) {
	var before map[kubeobj.Ref]entry
	if t.inventory != nil {
		before = t.inventory.entries
	}
	for ref, entry := range i.entries {
		if _, had := before[ref]; !had {
			r.shareLocked(ref, i.service)
		}
		if !entry.leaving || r.owner[ref] == "" {
			r.owner[ref] = i.service
		}
	}
	for ref := range before {
		if _, still := i.entries[ref]; !still {
			r.disownLocked(ref, i.service)
		}
	}
	t.inventory = i
	has := map[kubeobj.Kind]bool{}
	for _, entry := range i.entries {
		has[entry.kind] = true
	}
	r.countLocked(t, has)
}

// shareLocked records that one more inventory has an object.
func (r *registry) shareLocked(ref kubeobj.Ref, service string) {
	owner := r.owner[ref]
	if owner == "" || owner == service {
		return
	}
	if r.shared[ref] == nil {
		r.shared[ref] = map[string]bool{owner: true}
	}
	r.shared[ref][service] = true
}

// disownLocked records that an inventory no longer has an object. The remaining one
// then owns it.
func (r *registry) disownLocked(ref kubeobj.Ref, service string) {
	left := r.shared[ref]
	if delete(left, service); len(left) < 2 {
		delete(r.shared, ref)
	}
	if r.owner[ref] != service {
		return
	}
	delete(r.owner, ref)
	for id := range left {
		if r.hasLocked(id, ref) {
			r.owner[ref] = id
		}
	}
}

func (r *registry) hasLocked(service string, ref kubeobj.Ref) bool {
	t := r.services[service]
	if t == nil || t.inventory == nil {
		return false
	}
	_, has := t.inventory.entries[ref]
	return has
}

// othersLocked returns the other services whose inventory has an object.
func (r *registry) othersLocked(ref kubeobj.Ref, service string) []string {
	all := r.shared[ref]
	if len(all) == 0 {
		if owner := r.owner[ref]; owner != service && r.hasLocked(owner, ref) {
			return []string{owner}
		}
		return nil
	}
	var others []string
	for id := range all {
		if id != service && r.hasLocked(id, ref) {
			others = append(others, id)
		}
	}
	return others
}

// countLocked records which kinds a service has.
func (r *registry) countLocked(t *serviceState, has map[kubeobj.Kind]bool) {
	for kind := range has {
		r.inUse[kind]++
	}
	for kind := range t.has {
		r.unuseLocked(kind)
	}
	t.has = has
}

// claimLocked records which kinds a service's pass has.
func (r *registry) claimLocked(t *serviceState, claimed []kubeobj.Kind) {
	for _, kind := range claimed {
		r.inUse[kind]++
	}
	for _, kind := range t.claimed {
		r.unuseLocked(kind)
	}
	t.claimed = claimed
}

func (r *registry) unuseLocked(kind kubeobj.Kind) {
	if r.inUse[kind]--; r.inUse[kind] == 0 {
		delete(r.inUse, kind)
	}
}

// watchedKinds returns the kinds of all inventories and all running passes.
func (r *registry) watchedKinds() []kubeobj.Kind {
	r.mu.RLock()
	defer r.mu.RUnlock()
	seen := map[kubeobj.Kind]bool{}
	for kind := range r.inUse {
		seen[kind] = true
	}
	return sortedKinds(seen)
}

// serviceIDs returns the ids of all services that have an inventory.
func (r *registry) serviceIDs() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var ids []string
	for id, t := range r.services {
		if t.inventory != nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
