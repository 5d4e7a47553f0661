package ownership

import (
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// Registry holds the services of the cluster in memory, and which of them has an
// object. It makes no requests and is safe for concurrent use. An inventory in it is
// never changed, only replaced.
type Registry struct {
	// cluster is this cluster's id.
	cluster string
	// Claims are objects that services render and other services have.
	Claims *Claims
	// Former are the ended registrations of this cluster.
	Former Registrations

	mu       sync.RWMutex
	services map[string]*State
	// owner is the service whose inventory has an object. While an object moves, the
	// last inventory written wins.
	owner map[kubeobj.Ref]string
	// shared holds the services of objects in more than one inventory: a few, while
	// they move.
	shared map[kubeobj.Ref]map[string]bool
	// inUse counts, per kind, the services that have it in their inventory or their
	// present pass.
	inUse useCount
}

// NewRegistry returns the empty registry of a cluster.
func NewRegistry(cluster string) *Registry {
	return &Registry{cluster: cluster, Claims: newClaims(), services: map[string]*State{}, owner: map[kubeobj.Ref]string{},
		shared: map[kubeobj.Ref]map[string]bool{}, inUse: useCount{}}
}

// State is one service in memory.
type State struct {
	// turn is held while a pass, a heal or a drain runs.
	turn sync.Mutex

	// The fields below are guarded by registry.mu.
	inventory *inventory.Inventory
	// running: a pass is running. paused: nothing may be put back. stale: the
	// inventory must be read again.
	running, paused, stale bool
	// claimed are the kinds of the present pass, has those of the inventory.
	claimed []kubeobj.Kind
	has     map[kubeobj.Kind]bool
}

// Begin waits for a service's turn. The caller must call end.
func (r *Registry) Begin(service string) *State {
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

// End ends a turn, and returns the objects of the service.
func (r *Registry) End(t *State) []kubeobj.Ref {
	r.mu.Lock()
	t.running = false
	r.claimLocked(t, nil)
	var refs []kubeobj.Ref
	if t.inventory != nil {
		for ref := range t.inventory.Entries {
			refs = append(refs, ref)
		}
	}
	r.mu.Unlock()
	t.turn.Unlock()
	return refs
}

// Interject takes a service's turn between two passes: known is false if the service
// is not on this cluster, and a nil state says that a pass runs. The caller must call
// done.
func (r *Registry) Interject(service string) (t *State, known bool) {
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

// Done ends a turn that Interject began.
func (t *State) Done() { t.turn.Unlock() }

// Known returns a service's inventory, nil if it has none, whether it must be read
// again, and whether nothing of the service may be put back.
func (r *Registry) Known(t *State) (i *inventory.Inventory, stale, paused bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return t.inventory, t.stale, t.paused
}

// InventoryOf returns the inventory of a service, nil if it has none.
func (r *Registry) InventoryOf(service string) *inventory.Inventory {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if t := r.services[service]; t != nil {
		return t.inventory
	}
	return nil
}

// MarkStale says whether an inventory must be read again.
func (r *Registry) MarkStale(t *State, stale bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.stale = stale
}

// Unread says that the inventory of a service could not be read.
func (r *Registry) Unread(service string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stateLocked(service).stale = true
}

// Adopt takes an inventory that was read.
func (r *Registry) Adopt(i *inventory.Inventory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.stateLocked(i.Service)
	t.stale = false
	r.commitLocked(t, i)
}

// Find takes the inventory of a service that is not known yet, of which nothing may be
// put back. It reports whether the service was not known.
func (r *Registry) Find(i *inventory.Inventory) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.services[i.Service] != nil {
		return false
	}
	t := r.stateLocked(i.Service)
	t.paused = true
	r.commitLocked(t, i)
	return true
}

// Commit makes i a service's known inventory.
func (r *Registry) Commit(t *State, i *inventory.Inventory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commitLocked(t, i)
}

// Claim records the kinds of a service's pass.
func (r *Registry) Claim(t *State, kinds []kubeobj.Kind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.claimLocked(t, kinds)
}

// NamespaceUsed reports whether a service other than one uses a namespace.
func (r *Registry) NamespaceUsed(service, namespace string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for id, t := range r.services {
		if id == service || t.inventory == nil {
			continue
		}
		if t.inventory.Namespace == namespace {
			return true
		}
		for ref := range t.inventory.Entries {
			if ref.Namespace == namespace {
				return true
			}
		}
	}
	return false
}

func (r *Registry) stateLocked(id string) *State {
	t := r.services[id]
	if t == nil {
		t = &State{}
		r.services[id] = t
	}
	return t
}

// commitLocked is commit with mu held.
func (r *Registry) commitLocked(t *State, i *inventory.Inventory) {
	var before map[kubeobj.Ref]inventory.Entry
	if t.inventory != nil {
		before = t.inventory.Entries
	}
	for ref, entry := range i.Entries {
		if _, had := before[ref]; !had {
			r.shareLocked(ref, i.Service)
		}
		if !entry.Leaving || r.owner[ref] == "" {
			r.owner[ref] = i.Service
		}
	}
	for ref := range before {
		if _, still := i.Entries[ref]; !still {
			r.disownLocked(ref, i.Service)
		}
	}
	t.inventory = i
	has := map[kubeobj.Kind]bool{}
	for _, entry := range i.Entries {
		has[entry.Kind] = true
	}
	r.countLocked(t, has)
}

// shareLocked records that one more inventory has an object.
func (r *Registry) shareLocked(ref kubeobj.Ref, service string) {
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
func (r *Registry) disownLocked(ref kubeobj.Ref, service string) {
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

func (r *Registry) hasLocked(service string, ref kubeobj.Ref) bool {
	t := r.services[service]
	if t == nil || t.inventory == nil {
		return false
	}
	_, has := t.inventory.Entries[ref]
	return has
}

// othersLocked returns the other services whose inventory has an object.
func (r *Registry) othersLocked(ref kubeobj.Ref, service string) []string {
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
func (r *Registry) countLocked(t *State, has map[kubeobj.Kind]bool) {
	r.inUse.replace(maps.Keys(t.has), maps.Keys(has))
	t.has = has
}

// claimLocked records which kinds a service's pass has.
func (r *Registry) claimLocked(t *State, claimed []kubeobj.Kind) {
	r.inUse.replace(slices.Values(t.claimed), slices.Values(claimed))
	t.claimed = claimed
}

// useCount counts the services that use a kind.
type useCount map[kubeobj.Kind]int

// replace counts the kinds that a service uses from now on in place of those before.
func (u useCount) replace(before, now iter.Seq[kubeobj.Kind]) {
	for kind := range now {
		u[kind]++
	}
	for kind := range before {
		if u[kind]--; u[kind] == 0 {
			delete(u, kind)
		}
	}
}

// WatchedKinds returns the kinds of all inventories and all running passes.
func (r *Registry) WatchedKinds() []kubeobj.Kind {
	r.mu.RLock()
	defer r.mu.RUnlock()
	seen := map[kubeobj.Kind]bool{}
	for kind := range r.inUse {
		seen[kind] = true
	}
	return inventory.SortedKinds(seen)
}

// ServiceIDs returns the ids of all services that have an inventory.
func (r *Registry) ServiceIDs() []string {
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
