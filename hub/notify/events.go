package notify

import (
	"slices"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
)

// Event is something that a router can name.
type Event struct {
	Name string
	// Kinds are the kinds of the event log that it consists of; empty when nothing in
	// the hub makes it yet.
	Kinds []string
	// Says when it happens.
	Says string
}

// All is the name of all events.
const All = "*"

// Events are all events that a router can name. docs/howto/notifications.md has the
// same table; a test compares them.
var Events = []Event{
	{"service.update", []string{"service.applied", "service.failed", "service.recovered"}, "A service applied another revision, failed or became Degraded, or recovered."},
	{"service.applied", []string{"service.applied"}, "A service applied another revision."},
	{"service.failed", []string{"service.failed"}, "A service could not be applied, or became Degraded."},
	{"service.recovered", []string{"service.recovered"}, "A service that had failed or was Degraded is good again."},
	{"cluster.create", []string{"cluster.created", "cluster.registered"}, "A cluster was created, or its agent registered."},
	{"cluster.delete", []string{"cluster.deleted", "cluster.destroying", "cluster.destroyed"}, "A cluster was deleted, or its machines are being removed (`cluster.destroying`) or are gone (`cluster.destroyed`). Of a cluster that is gone, only routers of the hub as a whole get it."},
	{"cluster.orphan", []string{"cluster.orphan"}, "A cluster has a service that the hub does not know, as after a restore of the cluster from a backup."},
	{"rollout.failed", []string{"rollout.stopped"}, "A rollout stopped because too many clusters failed. Only routers of the hub as a whole get it."},
	{"rollout.finished", []string{"rollout.done", "rollout.aborted"}, "A rollout reached all clusters, or was aborted. Only routers of the hub as a whole get it."},
	{"backup.failed", []string{"backup.failed"}, "A backup of the hub's database failed. Only routers of the hub as a whole get it."},
	{"pipeline.update", nil, "Does not happen yet: the hub has no pipelines."},
	{"pr.create", nil, "Does not happen yet: the hub creates no pull requests."},
	{"pr.close", nil, "Does not happen yet: the hub creates no pull requests."},
	{"stack.run", nil, "Does not happen yet: the hub has no stacks."},
	{"stack.pending", nil, "Does not happen yet: the hub has no stacks."},
	{"alert.fired", nil, "Does not happen yet: the hub has no monitors."},
	{"alert.resolved", nil, "Does not happen yet: the hub has no monitors."},
}

// eventNamed finds an event.
func eventNamed(name string) (Event, bool) {
	i := slices.IndexFunc(Events, func(e Event) bool { return e.Name == name })
	if i < 0 {
		return Event{}, false
	}
	return Events[i], true
}

// Silent returns those of the names that nothing makes yet.
func Silent(names []string) (silent []string) {
	for _, name := range names {
		if e, ok := eventNamed(name); ok && len(e.Kinds) == 0 {
			silent = append(silent, name)
		}
	}
	return silent
}

// kindsOf are the kinds of the event log that some events consist of.
func kindsOf(names []string) map[string]bool {
	kinds := map[string]bool{}
	for _, e := range Events {
		if slices.Contains(names, All) || slices.Contains(names, e.Name) {
			for _, kind := range e.Kinds {
				kinds[kind] = true
			}
		}
	}
	return kinds
}

// checkEvents returns Invalid for a name that is not known.
func checkEvents(names []string) error {
	if len(names) == 0 {
		return invalid("events: is empty; name events, such as service.update, or * for all")
	}
	for i, name := range names {
		if _, ok := eventNamed(name); !ok && name != All {
			var known []string
			for _, e := range Events {
				known = append(known, e.Name)
			}
			return invalid("events[%d]: %.40q is not known; use * or some of %s", i, name, strings.Join(known, ", "))
		}
	}
	return nil
}

func invalid(format string, args ...any) error { return errcode.New(errcode.Invalid, format, args...) }

// family is the part of a topic that kinds of events share which tell the state of the
// same object.
func family(kind string) string {
	switch kind {
	case "service.failed", "service.recovered":
		return "health"
	case "cluster.registered":
		return "cluster.created"
	case "cluster.destroying":
		return "cluster.destroyed"
	}
	return kind
}
