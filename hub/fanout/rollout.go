package fanout

// Phase is where a rollout is.
type Phase string

// The phases.
const (
	// Progressing places and judges.
	Progressing Phase = "Progressing"
	// Paused judges and places nothing, because a person said so.
	Paused Phase = "Paused"
	// Stopped is Paused by the engine: too many failed.
	Stopped Phase = "Stopped"
	// Aborting goes back to the version before.
	Aborting Phase = "Aborting"
	// Aborted went back.
	Aborted Phase = "Aborted"
	// Done placed every wave.
	Done Phase = "Done"
	// Superseded was overtaken by a rollout of another version.
	Superseded Phase = "Superseded"
)

// Active reports whether the engine still has work with it.
func (p Phase) Active() bool {
	return p == Progressing || p == Paused || p == Stopped || p == Aborting
}

// State is where one cluster of a rollout is.
type State string

// The states.
const (
	// Waiting has not been placed.
	Waiting State = "Waiting"
	// Placed should run the version and is not known to be well.
	Placed State = "Placed"
	// Good runs it and is well.
	Good State = "Good"
	// Failed said so, or was not well in time.
	Failed State = "Failed"
	// Absent did not poll when it was placed: no wave waits for it.
	Absent State = "Absent"
	// Unchanged ran the version before the rollout came to it.
	Unchanged State = "Unchanged"
	// Reverted was taken back by an abort.
	Reverted State = "Reverted"
)

// Rollout is one change under way.
type Rollout struct {
	ID string
	// Subject names what is rolled out; it has one active rollout at most.
	Subject string
	// Version is for people, Payload what the subject places.
	Version string
	Payload string
	// Previous is what an abort goes back to, empty when there was none.
	Previous        string
	PreviousPayload string
	Plan            Plan
	Phase           Phase
	// Wave counts from 0; WaveAt is when it began, 0 before.
	Wave   int
	WaveAt int64
	// Accepted is how many failures a person has seen and gone on with.
	Accepted int
	Message  string
	By       string
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
	// GoodSince is when it began to be well without a break, 0 when it is not.
	GoodSince int64
	Message   string
}

// Member is a cluster that a subject could be rolled out to.
type Member struct {
	ClusterID string
	Name      string
	// Payload is what it was given last, empty for nothing.
	Payload string
	// Runs reports whether it runs the rollout's version, whoever brought it.
	Runs func(version string) bool
	// Fresh says that its agent polls.
	Fresh bool
}

// Verdict is what a cluster's reports say.
type Verdict struct {
	// Good: it runs the version and is well. Failed: it says that it cannot.
	// Neither: it is on its way.
	Good, Failed bool
	Message      string
}
