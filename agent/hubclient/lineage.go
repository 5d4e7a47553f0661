package hubclient

import agentv1 "github.com/axle-cd/axle/api/agent/v1"

// Lineage says how the hub's present incarnation follows from the one that the agent
// knew.
type Lineage string

// The lineages.
const (
	// SameLife: the incarnation is the known one; or none was known and this one can
	// be followed, because it has no parent or was confirmed.
	SameLife Lineage = "same"
	// Resumed: a new incarnation without loss of data. Deletes wait for one whole
	// report, nothing else.
	Resumed Lineage = "resumed"
	// Restored: an incarnation that may have lost what this agent saw, such as a
	// restored backup, or, for an agent without a position, what its cluster was told
	// before. Deletes wait for a person's confirmation.
	Restored Lineage = "restored"
)

// Follow judges an incarnation by the last position seen before it. Without a
// position, as after the loss of the data folder, it is unknown what the hub lost:
// the cluster may run services from the time of the parent. The age of the backup
// does not tell what was lost.
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
