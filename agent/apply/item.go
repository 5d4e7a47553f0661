package apply

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// item is one object that a pass applies.
type item struct {
	ref      kubeobj.Ref
	kind     kubeobj.Kind
	order    order
	body     []byte
	hash     uint64
	once     bool
	recreate bool
	prune    pruning
	hook     hook
}

// wire is the item as it is packed.
func (it *item) wire() wireItem {
	return wireItem{Ref: it.ref, Kind: it.kind, Order: it.order, Body: it.body, Hash: it.hash, Once: it.once, Recreate: it.recreate, Prune: it.prune,
		Moment: it.hook.moment, Runs: it.hook.runs, Policy: it.hook.policy, Limit: it.hook.limit}
}

func (w wireItem) item() *item {
	return &item{ref: w.Ref, kind: w.Kind, order: w.Order, body: w.Body, hash: w.Hash, once: w.Once, recreate: w.Recreate, prune: w.Prune,
		hook: hook{moment: w.Moment, runs: w.Runs, policy: w.Policy, limit: w.Limit}}
}

// wireItem is an item in packed form.
type wireItem struct {
	Ref      kubeobj.Ref
	Kind     kubeobj.Kind
	Order    order `json:"Place"`
	Body     json.RawMessage
	Hash     uint64
	Once     bool
	Recreate bool
	Prune    pruning
	Moment   moment        `json:",omitempty"`
	Runs     bool          `json:",omitempty"`
	Policy   hookPolicy    `json:",omitempty"`
	Limit    time.Duration `json:",omitempty"`
}

// groupsOf splits sorted items into groups that may be applied together.
func groupsOf(items []*item) [][]*item {
	var all [][]*item
	for i, it := range items {
		if i == 0 || items[i-1].order != it.order {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], it)
	}
	return all
}

// runKey identifies one run of a hook: its object and the revision.
func runKey(it *item, goal string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %x %s", it.ref.Tracking(), it.hash, goal)
	if sum := h.Sum64(); sum != 0 {
		return sum
	}
	return 1
}
