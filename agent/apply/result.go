package apply

import (
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// Phase is how far a service's last pass came.
type Phase string

// The phases.
const (
	// PhaseApplying: objects are being written, or some could not be.
	PhaseApplying Phase = "Applying"
	// PhaseWaiting: everything is written; what the service stopped rendering
	// goes once what was changed is healthy.
	PhaseWaiting Phase = "Waiting"
	// PhaseApplied: everything is written and nothing is left over.
	PhaseApplied Phase = "Applied"
	// PhasePruneHeld: everything is written; a person must release the prune.
	PhasePruneHeld Phase = "PruneHeld"
	// PhaseFailed: what was changed did not become healthy in time; nothing
	// was pruned.
	PhaseFailed Phase = "Failed"
	// PhaseDraining: the service leaves the cluster.
	PhaseDraining Phase = "Draining"
)

// Sync words and reasons that a Result carries, as statuses have them.
const (
	SyncSynced   = "Synced"
	SyncApplying = "Applying"
	SyncFailed   = "Failed"
	SyncHeld     = "Held"

	ReasonPruneHeld = "PruneHeld"
	ReasonLeftOut   = "PartLeftOut"
	ReasonOwnership = "NotOurs"
	ReasonHealth    = "HealthTimeout"
	ReasonAPIServer = "APIServerAway"
)

// Problem is one object that could not be handled.
type Problem struct {
	// Source is apply, prune or health, as in a status.
	Source string
	Ref    kubeobj.Ref
	// Message is scrubbed and says what to do next.
	Message string
	// Warning did not stop anything.
	Warning bool
}

// Result says what a pass did. A pass that could not do everything returns a
// Result with Problems and no error.
type Result struct {
	Phase Phase
	// Sync and Reason are the words for the status.
	Sync   string
	Reason string
	// Message is one sentence for a person, scrubbed.
	Message  string
	Problems []Problem
	// Applied counts objects that were written, Unchanged those that needed no
	// request, Pruned those that were deleted, Left those that were forgotten
	// without being deleted, Held those that wait for a person.
	Applied, Unchanged, Pruned, Left, Held int
	// Again is when to call Pass again although nothing changed; zero is never.
	// A change of health is a reason to call it sooner while Phase is Waiting.
	Again time.Duration
	// Awaits: the prune waits for other services, which may take objects over.
	Awaits bool
	// Missing are kinds that the service renders and the cluster does not serve,
	// as group/version/kind: once it does, Pass should be called again.
	Missing []string
	// Partly says that something is still to be written: the revision may not
	// be called applied whatever the Phase says.
	Partly bool
}

// Errors returns the problems as a status has them, with the time since when
// they are there given by the caller.
func (r Result) Errors(since time.Time) []*agentv1.StatusError {
	var all []*agentv1.StatusError
	for _, p := range r.Problems {
		all = append(all, &agentv1.StatusError{Source: p.Source, Message: p.Message, Since: since.UnixMicro(), Warning: p.Warning})
	}
	return all
}

// State is what the inventory of a service says, read from memory.
type State struct {
	ServiceID string
	Name      string
	Namespace string
	// TarballDigest and SpecDigest are of the last pass that wrote everything.
	TarballDigest string
	SpecDigest    string
	// Seen is the position of the list that named them, empty when an earlier
	// version stored them.
	Seen string
	// Settings are those of the spec without what people ask.
	Settings string
	Phase    Phase
	// Objects counts the inventory's entries.
	Objects int
	// AppliedAt is when an object was last written.
	AppliedAt time.Time
	// SyncRequest is the last one of a person that was taken up.
	SyncRequest int64
	// User is whom the last pass acted as, empty for the agent itself.
	User string
	// Hooks says which hook of the present revision has not ended well, empty
	// when there is none.
	Hooks string
	// PruneApproval is the number that was used up by the last held prune.
	PruneApproval int64
}
