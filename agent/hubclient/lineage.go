package hubclient

import (
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// Lineage says how the hub's present life follows from the one that the agent
// knew.
type Lineage string

// The lineages.
const (
	// SameLife: the incarnation is the one that was known, or the first ever.
	SameLife Lineage = "same"
	// Resumed: a new life that kept everything that matters. Deletes wait for
	// one whole report, nothing else.
	Resumed Lineage = "resumed"
	// Restored: a life that may have forgotten what this agent saw, such as a
	// restored backup. Deletes wait for a person's word.
	Restored Lineage = "restored"
)

// lossTolerated is how much of the parent's last minutes a new life may have
// lost and still count as a fail-over: changes so young are made again by the
// people who just made them.
const lossTolerated = 10 * time.Minute

// Follow judges an incarnation by the last position seen before it.
func Follow(seen Position, life *agentv1.Incarnation) Lineage {
	switch {
	case seen.Incarnation == "" || seen.Incarnation == life.GetId():
		return SameLife
	case life.GetConfirmed():
		return Resumed
	case life.GetParentId() != seen.Incarnation:
		return Restored
	case seen.Sequence <= life.GetParentKeptSequence():
		return Resumed
	}
	lost := time.Duration(life.GetStartedAt()-life.GetParentKeptAt()) * time.Microsecond
	if lost < lossTolerated {
		return Resumed
	}
	return Restored
}
