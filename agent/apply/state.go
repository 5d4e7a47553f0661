package apply

import (
	"maps"
	"slices"
	"strings"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// hooks names a hook of the present revision that has not succeeded.
func (i *inventory) hooks() string {
	if i.phase != phaseWaiting && i.phase != phaseFailed {
		return ""
	}
	for _, e := range i.entries {
		if e.hook.runs && e.hook.key != 0 && e.hook.end != hookSucceeded && e.hook.moment != momentFail {
			return e.ref.String()
		}
	}
	return ""
}

// beyond reports whether a waiting pass has not reached an object yet. Such an object
// is not healed before the pass writes it.
func (i *inventory) beyond(e entry) bool {
	return (i.phase == phaseWaiting || i.phase == phaseFailed) && i.goal != "" && i.reached.before(e.order)
}

// asSettled reports whether the settings equal the stored ones, ignoring people's
// requests to the service.
func (i *inventory) asSettled(settings string) bool { return settings != "" && i.settings == settings }

// Stored reasons for which a prune is held, besides the prune limit.
const (
	heldForOthers = "others"
	heldForParts  = "parts"
)

// released reports whether a person released the prune after it was first held for a
// reason. Earlier approvals do not count.
func (i *inventory) released(reason string, approval int64) bool {
	if i.heldFor != reason {
		i.heldFor, i.heldApproval = reason, approval
	}
	return approval > i.heldApproval
}

// expects is an object of the inventory in the form that drift compares.
func expects(service string, had entry) kubeobj.Expected {
	return kubeobj.Expected{Ref: had.ref, Kind: had.kind, Service: service, UID: had.uid, Print: had.print, Once: had.once}
}

// kinds returns the kinds of all objects in a fixed order.
func (i *inventory) kinds() []kubeobj.Kind {
	all := map[kubeobj.Kind]bool{}
	for _, e := range i.entries {
		all[e.kind] = true
	}
	return sortedKinds(all)
}

// sortedKinds returns the kinds of a set in a fixed order.
func sortedKinds(all map[kubeobj.Kind]bool) []kubeobj.Kind {
	return slices.SortedFunc(maps.Keys(all), func(a, b kubeobj.Kind) int { return strings.Compare(a.String(), b.String()) })
}
