// Package testruns has the types of runs of services' tests. hub/fleet stores and shows
// them, by the same names.
package testruns

// State is the state of a test, or of a run of all tests of a service.
type State string

// The states.
const (
	Waiting State = "Waiting"
	Running State = "Running"
	Passed  State = "Passed"
	Failed  State = "Failed"
)

// Ended reports whether the state is final.
func (s State) Ended() bool { return s == Passed || s == Failed }

// Run is a run of the tests of one service and revision. The agent reports
// it while the tests run; it is kept when they have ended.
type Run struct {
	ServiceID string
	// Key identifies what is tested, content and settings; the agent chooses it.
	Key string
	// Revision is the service's revision, SourceRevision is upstream's.
	Revision       int64
	SourceRevision string
	TarballDigest  string
	SpecDigest     string
	State          State
	Message        string
	// StartedAt and EndedAt are zero until then.
	StartedAt, EndedAt int64
	// CreatedAt is when the run was first reported, ReportedAt when it was last.
	CreatedAt, ReportedAt int64
	Tests                 []Result
}

// Result is the state of one test.
type Result struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	State     State  `json:"state"`
	// Attempt is the current or last attempt, from 1, of Attempts.
	Attempt   int    `json:"attempt,omitempty"`
	Attempts  int    `json:"attempts,omitempty"`
	StartedAt int64  `json:"startedAt,omitempty"`
	EndedAt   int64  `json:"endedAt,omitempty"`
	Message   string `json:"message,omitempty"`
	// Tail is the end of the last attempt's log, LogBytes its full length.
	Tail     string  `json:"tail,omitempty"`
	LogBytes int64   `json:"logBytes,omitempty"`
	Report   *Report `json:"report,omitempty"`
}

// Report is the JUnit report that a test wrote.
type Report struct {
	Tests    int    `json:"tests"`
	Failures int    `json:"failures"`
	Errors   int    `json:"errors"`
	Skipped  int    `json:"skipped"`
	Duration int64  `json:"durationMicros"`
	Failed   []Case `json:"failed,omitempty"`
}

// Case is a failed test case.
type Case struct {
	Suite   string `json:"suite,omitempty"`
	Name    string `json:"name"`
	Message string `json:"message,omitempty"`
}
