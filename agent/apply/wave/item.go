package wave

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// Item is one object that a pass applies.
type Item struct {
	Ref      kubeobj.Ref
	Kind     kubeobj.Kind
	Order    Order
	Body     []byte
	Hash     uint64
	Once     bool
	Recreate bool
	Prune    Pruning
	// Shared leaves what others wrote to an object that is taken over.
	Shared bool
	Hook   Hook

	// Lost are ignored fields that the last write set to the value of Git, and Same says
	// that it changed no value.
	Lost string
	Same bool
}

// Pack is the item as it is packed.
func (it *Item) Pack() Packed {
	return Packed{Ref: it.Ref, Kind: it.Kind, Order: it.Order, Body: it.Body, Hash: it.Hash, Once: it.Once, Recreate: it.Recreate, Prune: it.Prune, Shared: it.Shared,
		Moment: it.Hook.Moment, Runs: it.Hook.Runs, Policy: it.Hook.Policy, Limit: it.Hook.Limit}
}

// Item is the unpacked item.
func (w Packed) Item() *Item {
	return &Item{Ref: w.Ref, Kind: w.Kind, Order: w.Order, Body: w.Body, Hash: w.Hash, Once: w.Once, Recreate: w.Recreate, Prune: w.Prune, Shared: w.Shared,
		Hook: Hook{Moment: w.Moment, Runs: w.Runs, Policy: w.Policy, Limit: w.Limit}}
}

// Packed is an item in packed form.
type Packed struct {
	Ref      kubeobj.Ref
	Kind     kubeobj.Kind
	Order    Order `json:"Place"`
	Body     json.RawMessage
	Hash     uint64
	Once     bool
	Recreate bool
	Prune    Pruning
	Shared   bool          `json:",omitempty"`
	Moment   Moment        `json:",omitempty"`
	Runs     bool          `json:",omitempty"`
	Policy   HookPolicy    `json:",omitempty"`
	Limit    time.Duration `json:",omitempty"`
}

// Groups splits sorted items into groups that may be applied together.
func Groups(items []*Item) [][]*Item {
	var all [][]*Item
	for i, it := range items {
		if i == 0 || items[i-1].Order != it.Order {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], it)
	}
	return all
}

// RunKey identifies one run of a hook: its object and the revision.
func RunKey(it *Item, goal string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %x %s", it.Ref.Tracking(), it.Hash, goal)
	if sum := h.Sum64(); sum != 0 {
		return sum
	}
	return 1
}
