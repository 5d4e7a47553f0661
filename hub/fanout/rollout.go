package fanout

import "github.com/axle-cd/axle/hub/managed"

// Phase is the phase of a rollout.
type Phase string

// The phases.
const (
	// Progressing: places and judges clusters.
	Progressing Phase = "Progressing"
	// Paused: judges but places nothing, because a person paused it.
	Paused Phase = "Paused"
	// Stopped: paused by the engine, because too many clusters failed.
	Stopped Phase = "Stopped"
	// Aborting: goes back to the previous version.
	Aborting Phase = "Aborting"
	// Aborted: went back.
	Aborted Phase = "Aborted"
	// Done: placed every wave.
	Done Phase = "Done"
	// Superseded: replaced by a rollout of another version.
	Superseded Phase = "Superseded"
)

// Active reports whether the engine still has work to do.
func (p Phase) Active() bool {
	return p == Progressing || p == Paused || p == Stopped || p == Aborting
}

// State is the state of one cluster of a rollout.
type State string

// The states.
const (
	// Waiting: not placed yet.
	Waiting State = "Waiting"
	// Placed: should run the version, and is not known to be healthy.
	Placed State = "Placed"
	// Good: runs it and is healthy.
	Good State = "Good"
	// Failed: reported a failure, or was not healthy in time.
	Failed State = "Failed"
	// Absent: did not poll when it was placed; no wave waits for it.
	Absent State = "Absent"
	// Unchanged: ran the version before the rollout reached it.
	Unchanged State = "Unchanged"
	// Reverted: taken back by an abort.
	Reverted State = "Reverted"
)

// Excuse says why the failure of a cluster does not count against the rollout.
type Excuse string

// The excuses.
const (
	// Before: it failed before the rollout reached it. This excuses while some cluster
	// of the rollout is well: a rollout of failing clusters only has nothing else to go by.
	Before Excuse = "Before"
	// Accepted: a person resumed the rollout since.
	Accepted Excuse = "Accepted"
)

// Rollout is one change of many clusters.
type Rollout struct {
	ID string
	// Subject names what is rolled out; it has at most one active rollout.
	Subject string
	// Version is for people, Payload is what the subject places.
	Version string
	Payload string
	// Previous is the version that an abort goes back to, empty when there was
	// none.
	Previous        string
	PreviousPayload string
	Plan            Plan
	Phase           Phase
	// Wave counts from 0; WaveAt is when it began, 0 before.
	Wave   int
	WaveAt int64
	// Accepted is how many failures a person has accepted by resuming. The targets say
	// which; the number is for a hub of the previous version beside this one.
	Accepted int
	Message  string
	By       string
	// ManagedBy is who manages the upgrades of the subject since this one.
	ManagedBy managed.Manager
	// CreatedAt and UpdatedAt are microseconds since 1970 UTC, like all times.
	CreatedAt int64
	UpdatedAt int64
}

// Target is one cluster of a rollout.
type Target struct {
	RolloutID string
	ClusterID string
	Wave      int
	State     State
	PlacedAt  int64
	// GoodSince is since when it has been healthy without a break, 0 when it is
	// not.
	GoodSince int64
	Message   string
	// Excuse is empty for a cluster whose failure counts.
	Excuse Excuse
	// Relapses is how often it was healthy and then no longer.
	Relapses int
}

// Member is a cluster that a subject could be rolled out to.
type Member struct {
	ClusterID string
	Name      string
	// Payload is the payload that it was last given, empty for none.
	Payload string
	// Runs reports whether it runs the rollout's version, however it got it.
	Runs func(version string) bool
	// Fresh is set when its agent polls.
	Fresh bool
	// Failing is set when it reports a failure of what it has now.
	Failing bool
	// ProjectID is the project that the cluster is in, and Project its name.
	ProjectID, Project string
}

// Verdict is the state of a cluster according to its reports.
type Verdict struct {
	// Good: it runs the version and is healthy. Failed: it reports a failure.
	// Neither: it is in progress.
	Good, Failed bool
	Message      string
}
