package prune

import (
	"context"
	"fmt"
	"slices"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/kubeclient"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// Off is why an object stays that is no longer rendered.
const Off = "pruning is off (syncConfig.prune)"

// maxNamed objects that stay are named in a status; a diff names all.
const maxNamed = 10

// Stays reports whether an object that is no longer rendered stays the service's own,
// because its pruning is off. What another service takes over goes to it, and the runs
// of hooks go with their revision.
func Stays(off, taken bool, e inventory.Entry) bool { return off && !taken && !e.Hook.Runs }

// Leaving returns what is no longer rendered, last in order first: what leaves the
// service, and what stays because its pruning is off. taken reports whether another
// service takes an object over.
func Leaving(i *inventory.Inventory, off bool, taken func(kubeobj.Ref) bool) (leaving, staying []inventory.Entry) {
	for ref, e := range i.Entries {
		switch {
		case !e.Leaving:
		case Stays(off, taken(ref), e):
			staying = append(staying, e)
		default:
			leaving = append(leaving, e)
		}
	}
	lastFirst := func(a, b inventory.Entry) int {
		if b.Order.Before(a.Order) {
			return -1
		}
		if a.Order.Before(b.Order) {
			return 1
		}
		return a.Ref.Compare(b.Ref)
	}
	slices.SortFunc(leaving, lastFirst)
	slices.SortFunc(staying, lastFirst)
	return leaving, staying
}

// Lookup is what is known of an object without a request, and whether its absence is
// certain.
type Lookup func(kind kubeobj.Kind, ref kubeobj.Ref) (live kubeobj.Live, found, synced bool)

// Lost returns the objects that are gone or no longer the service's own. Objects that
// the watches do not have are read; one that cannot be read is not lost.
func Lost(ctx context.Context, c *kubeclient.Client, service string, staying []inventory.Entry, lookup Lookup) (lost []inventory.Entry) {
	for _, e := range staying {
		live, found, synced := lookup(e.Kind, e.Ref)
		if !synced || !found {
			var err error
			if live, found, err = lookAt(ctx, c, e); err != nil {
				continue
			}
		}
		if what := Guard(service, live, found); what == Gone || what == Forget {
			lost = append(lost, e)
		}
	}
	return lost
}

// StayingWords names what stays because pruning is off.
func StayingWords(staying []inventory.Entry) string {
	text := "no longer rendered and still there, because " + Off + ":"
	for n, e := range staying[:min(len(staying), maxNamed)] {
		if n > 0 {
			text += ","
		}
		text += " " + e.Ref.String()
	}
	if more := len(staying) - maxNamed; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}
