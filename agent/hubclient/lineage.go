package hubclient

import agentv1 "github.com/axle-cd/axle/api/agent/v1"

// Lineage says how the hub's present life follows from the one that the agent
// knew.
type Lineage string

// The lineages.
const (
	// SameLife: the incarnation is the one that was known, or none was and this
	// one is to be followed: it has no parent or was confirmed.
	SameLife Lineage = "same"
	// Resumed: a new life that kept everything that matters. Deletes wait for
	// one whole report, nothing else.
	Resumed Lineage = "resumed"
	// Restored: a life that may have forgotten what this agent saw, such as a
	// restored backup, or, for an agent that remembers no position, what its
	// cluster was told before. Deletes wait for a person's word.
	Restored Lineage = "restored"
)

// Follow judges an incarnation by the last position seen before it. Without
// one, as after the loss of the data folder, what the hub has lost cannot be
// told: the cluster may well run services of the parent's time. How young the
// backup was tells nothing of what was lost.
func Follow(seen Position, life *agentv1.Incarnation) Lineage {
	switch {
	case seen.Incarnation == life.GetId():
		return SameLife
	case seen.Incarnation == "" && (life.GetParentId() == "" || life.GetConfirmed()):
		return SameLife
	case life.GetConfirmed():
		return Resumed
	}
	return Restored
}
