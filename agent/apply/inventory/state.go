package inventory

import (
	"maps"
	"slices"
	"strings"

	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// Hooks names a hook of the present revision that has not succeeded.
func (i *Inventory) Hooks() string {
	if i.Phase != Waiting && i.Phase != Failed {
		return ""
	}
	for _, e := range i.Entries {
		if e.Hook.Runs && e.Hook.Key != 0 && e.Hook.End != wave.HookSucceeded && e.Hook.Moment != wave.MomentFail {
			return e.Ref.String()
		}
	}
	return ""
}

// Beyond reports whether a waiting pass has not reached an object yet. Such an object
// is not healed before the pass writes it.
func (i *Inventory) Beyond(e Entry) bool {
	return (i.Phase == Waiting || i.Phase == Failed) && i.Goal != "" && i.Reached.Before(e.Order)
}

// AsSettled reports whether the settings equal the stored ones, ignoring people's
// requests to the service.
func (i *Inventory) AsSettled(settings string) bool { return settings != "" && i.Settings == settings }

// Stored reasons for which a prune is held, besides the prune limit.
const (
	HeldForOthers = "others"
	HeldForParts  = "parts"
)

// Released reports whether a person released the prune after it was first held for a
// reason. Earlier approvals do not count.
func (i *Inventory) Released(reason string, approval int64) bool {
	if i.HeldFor != reason {
		i.HeldFor, i.HeldApproval = reason, approval
	}
	return approval > i.HeldApproval
}

// Expects is an object of the inventory in the form that drift compares.
func Expects(service string, had Entry) kubeobj.Expected {
	return kubeobj.Expected{Ref: had.Ref, Kind: had.Kind, Service: service, UID: had.UID, Print: had.Print, Once: had.Once, Unrun: had.unrun()}
}

// unrun reports whether what runs once has not run for this revision. What only runs after
// a failure is not waited for.
func (e Entry) unrun() bool {
	switch {
	case !e.Once || e.Leaving || e.Hook.Moment == wave.MomentFail:
		return false
	case e.Hook.Runs:
		return e.Hook.Key == 0
	}
	return e.UID == ""
}

// Kinds returns the kinds of all objects in a fixed order.
func (i *Inventory) Kinds() []kubeobj.Kind {
	all := map[kubeobj.Kind]bool{}
	for _, e := range i.Entries {
		all[e.Kind] = true
	}
	return SortedKinds(all)
}

// SortedKinds returns the kinds of a set in a fixed order.
func SortedKinds(all map[kubeobj.Kind]bool) []kubeobj.Kind {
	return slices.SortedFunc(maps.Keys(all), func(a, b kubeobj.Kind) int { return strings.Compare(a.String(), b.String()) })
}
