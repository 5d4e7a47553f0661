package operations

import (
	"slices"

	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// MaxTargets is how many services one operation has at most.
	MaxTargets = 20_000
	// MaxRunning is how many operations of one person run at the same time.
	MaxRunning = 5
	// MaxNamed is how many services a caller names by id.
	MaxNamed = 1000
)

// Action is what is done to each service.
type Action string

// The actions.
const (
	Sync     Action = "sync"
	Pause    Action = "pause"
	Resume   Action = "resume"
	Rollback Action = "rollback"
)

// Check returns Invalid for an unknown action.
func (a Action) Check() error {
	if !slices.Contains([]Action{Sync, Pause, Resume, Rollback}, a) {
		return errcode.New(errcode.Invalid, "action %.40q is not known; use sync, pause, resume or rollback", a)
	}
	return nil
}

// State is how far an operation is.
type State string

// The states of an operation. Failed has ended, with failures.
const (
	Running   State = "Running"
	Done      State = "Done"
	Failed    State = "Failed"
	Cancelled State = "Cancelled"
)

// TargetState is how far one service is.
type TargetState string

// The states of a target.
const (
	TargetWaiting   TargetState = "Waiting"
	TargetDone      TargetState = "Done"
	TargetFailed    TargetState = "Failed"
	TargetCancelled TargetState = "Cancelled"
)

// Operation is one action on many services. Times are microseconds since 1970
// UTC.
type Operation struct {
	ID     string
	Action Action
	State  State
	// By is the name of who began it, ActorID and TokenID are as whom it runs.
	By, ActorID, TokenID string
	Reason               string
	// Selection says for people what was selected.
	Selection           string
	Total, Done, Failed int64
	CreatedAt           int64
	UpdatedAt           int64
	EndedAt             int64
}

// ended returns the state of an operation in which nothing waits any more.
func (o Operation) ended() State {
	if o.Failed > 0 {
		return Failed
	}
	return Done
}

// Target is one service of an operation.
type Target struct {
	OperationID string
	// Position orders the targets, from 1.
	Position  int64
	ServiceID string
	// Cluster and Service are the names when the operation began.
	Cluster, Service string
	State            TargetState
	Message          string
	At               int64
}

// Place is where a page of targets continues: failed ones come first.
type Place struct {
	// Rank is 0 among the failed ones and 1 after them.
	Rank     int64
	Position int64
}

// Rank is the place of a target's state in lists.
func (t Target) Rank() int64 {
	if t.State == TargetFailed {
		return 0
	}
	return 1
}
