package index

import (
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/errcode"
)

// Verdict is one word about a service or a cluster: the worst of its states. The worst
// is the smallest.
type Verdict uint8

// The verdicts, the worst first. NeedsYou is none of them but selects those that wait
// for a person.
const (
	Failed Verdict = iota
	Stale
	Drifted
	Paused
	Progressing
	Pending
	Healthy
)

// NeedsYou selects clusters that are Failed or Stale, or wait for approval.
const NeedsYou = "NeedsYou"

// closed is a closed list of words, numbered in order: the worst first.
type closed []string

var (
	verdicts    = closed{"Failed", "Stale", "Drifted", "Paused", "Progressing", "Pending", "Healthy"}
	syncs       = closed{string(fleet.Failed), string(fleet.Held), string(fleet.Drifted), string(fleet.Applying), string(fleet.Pending), string(fleet.Paused), string(fleet.Synced)}
	states      = append(slices.Clone(syncs), "Deleting")
	healths     = closed{string(fleet.Degraded), string(fleet.Missing), string(fleet.Progressing), string(fleet.HealthUnknown), string(fleet.Suspended), string(fleet.Healthy)}
	freshnesses = closed{string(fleet.Stale), string(fleet.Unknown), string(fleet.Fresh)}
	tunnels     = closed{"Down", "Off", "Up"}

	syncHeld = syncs.number(string(fleet.Held))
)

// number returns a word's place. A word of a newer version counts as Pending or Unknown.
func (c closed) number(word string) uint8 {
	if i := slices.Index(c, word); i >= 0 {
		return uint8(i)
	}
	return uint8(max(slices.Index(c, "Pending"), slices.Index(c, "Unknown")))
}

// check refuses a word that is not in the list.
func (c closed) check(field string, words []string, further ...string) error {
	all := append(slices.Clone(c), further...)
	for _, word := range words {
		if !slices.Contains(all, strings.TrimPrefix(word, "!")) {
			return errcode.New(errcode.Invalid, "%s: %.40q is not known; use %s", field, word, strings.Join(all, ", "))
		}
	}
	return nil
}

// String is the word of the verdict.
func (v Verdict) String() string { return verdicts[v] }

// VerdictOf returns the verdict of a service. Of a Stale cluster nothing is known but
// what was, so that its services are neither Failed nor Healthy.
func VerdictOf(sync fleet.Sync, health fleet.Health, freshness fleet.Freshness) Verdict {
	switch {
	case freshness == fleet.Stale:
		return Stale
	case sync == fleet.Failed, sync == fleet.Held, health == fleet.Degraded:
		return Failed
	case sync == fleet.Drifted:
		return Drifted
	case sync == fleet.Paused, sync == fleet.Synced && health == fleet.Suspended:
		return Paused
	case sync == fleet.Applying, health == fleet.Progressing, sync == fleet.Synced && health == fleet.Missing:
		return Progressing
	case sync == fleet.Synced && health == fleet.Healthy:
		return Healthy
	}
	return Pending
}

// byState are the verdicts of fresh services by sync and health.
var byState = func() (all [8][8]Verdict) {
	for i, sync := range syncs {
		for j, health := range healths {
			all[i][j] = VerdictOf(fleet.Sync(sync), fleet.Health(health), fleet.Fresh)
		}
	}
	return all
}()

func (s *service) verdict(freshness fleet.Freshness) Verdict {
	if freshness == fleet.Stale {
		return Stale
	}
	return byState[s.sync][s.health]
}

// state is the number of the service's word in states.
func (s *service) state() uint8 {
	if s.flags&flagDeleting != 0 {
		return uint8(len(syncs))
	}
	return s.sync
}

// verdict returns the verdict of a cluster: the worst fresh state of it and of its
// services. One without an agent or approval is Pending.
func (c *cluster) verdict(freshness fleet.Freshness) Verdict {
	switch {
	case c.Pending || !c.Registered():
		return Pending
	case freshness == fleet.Stale:
		return Stale
	}
	switch worst := c.tally.worst; worst {
	case Pending:
		return Progressing
	case Paused: // somebody wants it so
		return c.restVerdict()
	default:
		return worst
	}
}

// restVerdict is the worst verdict of the services that are not paused.
func (c *cluster) restVerdict() Verdict {
	if c.tally.Progressing > 0 {
		return Progressing
	}
	return Healthy
}

// needsYou reports whether a cluster waits for a person.
func (c *cluster) needsYou(v Verdict) bool { return v <= Stale || c.Pending }
