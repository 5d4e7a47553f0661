package apply

import (
	"time"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/write"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// Phase is how far a service's last pass got.
type Phase = inventory.Phase

// The phases.
const (
	PhaseApplying  = inventory.Applying
	PhaseWaiting   = inventory.Waiting
	PhaseApplied   = inventory.Applied
	PhasePruneHeld = inventory.PruneHeld
	PhaseFailed    = inventory.Failed
	PhaseDraining  = inventory.Draining
)

// Sync words and reasons of a Result, as statuses use them.
const (
	SyncSynced   = "Synced"
	SyncApplying = "Applying"
	SyncFailed   = "Failed"
	SyncHeld     = "Held"

	ReasonPruneHeld = "PruneHeld"
	ReasonLeftOut   = "PartLeftOut"
	ReasonOwnership = write.ReasonOwnership
	ReasonHealth    = "HealthTimeout"
	ReasonAPIServer = "APIServerAway"
)

// Result says what a pass did. A pass that could not do everything returns a
// Result with Problems and no error.
type Result struct {
	Phase Phase
	// Sync and Reason are the words of the status.
	Sync   string
	Reason string
	// Message is one sentence for a person, scrubbed.
	Message  string
	Problems []Problem
	// Applied counts written objects, Unchanged those that needed no request, Pruned
	// those that were deleted, Left those that were released without being deleted,
	// Held those that wait for a person, or stay because pruning is off.
	Applied, Unchanged, Pruned, Left, Held int
	// Again is when to call Pass again although nothing changed; zero is never. While
	// Phase is Waiting, a change of health is a reason to call it sooner.
	Again time.Duration
	// Awaits: the prune waits for other services, which may take objects over.
	Awaits bool
	// Missing are kinds, as group/version/kind, that the service renders and the
	// cluster does not serve. Pass should be called again once it does.
	Missing []string
	// Partly: something remains to be written. The revision must not be reported as
	// applied, whatever Phase says.
	Partly bool
}

// Errors returns the problems in the form of a status, all with the given start time.
func (r Result) Errors(since time.Time) []*agentv1.StatusError {
	var all []*agentv1.StatusError
	for _, p := range r.Problems {
		all = append(all, &agentv1.StatusError{Source: p.Source, Message: p.Message, Since: since.UnixMicro(), Warning: p.Warning})
	}
	return all
}

// State is what the inventory of a service says, from memory.
type State struct {
	ServiceID string
	Name      string
	Namespace string
	// TarballDigest and SpecDigest are of the last pass that wrote everything.
	TarballDigest string
	SpecDigest    string
	// Seen is the position of the list that named them, empty if an earlier version
	// stored them.
	Seen string
	// Settings names the settings of the spec, without people's requests.
	Settings string
	Phase    Phase
	// Objects counts the inventory's entries.
	Objects int
	// AppliedAt is when an object was last written.
	AppliedAt time.Time
	// SyncRequest is the last sync request that was handled.
	SyncRequest int64
	// User is the account of the last pass, empty for the agent itself.
	User string
	// Hooks names a hook of the present revision that has not succeeded, empty if
	// there is none.
	Hooks string
	// PruneApproval is the approval that the last held prune used up.
	PruneApproval int64
}
