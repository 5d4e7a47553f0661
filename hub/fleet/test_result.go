package fleet

// TestState is the state of a test, or of a run of all tests of a service.
type TestState string

// The states.
const (
	TestWaiting TestState = "Waiting"
	TestRunning TestState = "Running"
	TestPassed  TestState = "Passed"
	TestFailed  TestState = "Failed"
)

// Ended reports whether the state is final.
func (s TestState) Ended() bool { return s == TestPassed || s == TestFailed }

// TestRun is a run of the tests of one service and revision. The agent reports
// it while the tests run; it is kept when they have ended.
type TestRun struct {
	ServiceID string
	// Key identifies what is tested, content and settings; the agent chooses it.
	Key string
	// Revision is the service's revision, SourceRevision is upstream's.
	Revision       int64
	SourceRevision string
	TarballDigest  string
	SpecDigest     string
	State          TestState
	Message        string
	// StartedAt and EndedAt are zero until then.
	StartedAt, EndedAt int64
	// CreatedAt is when the run was first reported, ReportedAt when it was last.
	CreatedAt, ReportedAt int64
	Tests                 []TestResult
}

// TestResult is the state of one test.
type TestResult struct {
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	State     TestState `json:"state"`
	// Attempt is the current or last attempt, from 1, of Attempts.
	Attempt   int    `json:"attempt,omitempty"`
	Attempts  int    `json:"attempts,omitempty"`
	StartedAt int64  `json:"startedAt,omitempty"`
	EndedAt   int64  `json:"endedAt,omitempty"`
	Message   string `json:"message,omitempty"`
	// Tail is the end of the last attempt's log, LogBytes its full length.
	Tail     string      `json:"tail,omitempty"`
	LogBytes int64       `json:"logBytes,omitempty"`
	Report   *TestReport `json:"report,omitempty"`
}

// TestReport is the JUnit report that a test wrote.
type TestReport struct {
	Tests    int        `json:"tests"`
	Failures int        `json:"failures"`
	Errors   int        `json:"errors"`
	Skipped  int        `json:"skipped"`
	Duration int64      `json:"durationMicros"`
	Failed   []TestCase `json:"failed,omitempty"`
}

// TestCase is a failed test case.
type TestCase struct {
	Suite   string `json:"suite,omitempty"`
	Name    string `json:"name"`
	Message string `json:"message,omitempty"`
}
