package fleet

import (
	"context"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/errcode"
)

// keptTestRuns is how many runs of a service's tests are kept: as many as
// revisions.
const keptTestRuns = 20

// TestState is how a test, or a run of all tests of a service, stands.
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

// TestRun is how the tests of one service and revision stand. An agent reports
// it while they run; it stays when they have ended.
type TestRun struct {
	ServiceID string
	// Key names what is tested, content and settings: the agent's word.
	Key string
	// Revision is the service's, SourceRevision upstream's.
	Revision       int64
	SourceRevision string
	TarballDigest  string
	SpecDigest     string
	State          TestState
	Message        string
	// StartedAt and EndedAt are zero until then.
	StartedAt, EndedAt int64
	// CreatedAt is when the hub first heard of the run, ReportedAt when last.
	CreatedAt, ReportedAt int64
	Tests                 []TestResult
}

// TestResult is how one test stands.
type TestResult struct {
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	State     TestState `json:"state"`
	// Attempt is the one that runs or was the last, from 1, of Attempts.
	Attempt   int    `json:"attempt,omitempty"`
	Attempts  int    `json:"attempts,omitempty"`
	StartedAt int64  `json:"startedAt,omitempty"`
	EndedAt   int64  `json:"endedAt,omitempty"`
	Message   string `json:"message,omitempty"`
	// Tail is the end of the last attempt's log, LogBytes its whole length.
	Tail     string      `json:"tail,omitempty"`
	LogBytes int64       `json:"logBytes,omitempty"`
	Report   *TestReport `json:"report,omitempty"`
}

// TestReport is what a test wrote as JUnit.
type TestReport struct {
	Tests    int        `json:"tests"`
	Failures int        `json:"failures"`
	Errors   int        `json:"errors"`
	Skipped  int        `json:"skipped"`
	Duration int64      `json:"durationMicros"`
	Failed   []TestCase `json:"failed,omitempty"`
}

// TestCase is one that failed.
type TestCase struct {
	Suite   string `json:"suite,omitempty"`
	Name    string `json:"name"`
	Message string `json:"message,omitempty"`
}

// TestRunStore keeps runs of tests.
type TestRunStore interface {
	// PutTestRun stores a run in place of an earlier report of it, whose
	// creation time it keeps.
	PutTestRun(ctx context.Context, r TestRun) error
	// TestRunState returns how a run stands, empty when it is not known.
	TestRunState(ctx context.Context, serviceID, key string) (TestState, error)
	// TestRuns returns a service's runs, those created last first.
	TestRuns(ctx context.Context, serviceID string) ([]TestRun, error)
	// TrimTestRuns removes all but the newest keep.
	TrimTestRuns(ctx context.Context, serviceID string, keep int) error
}

// StoreTestRuns stores what an agent says of tests. Runs of services that are
// not its cluster's are left out.
func (f *Fleet) StoreTestRuns(ctx context.Context, clusterID string, runs []TestRun) error {
	ids := make([]string, 0, len(runs))
	for _, r := range runs {
		ids = append(ids, r.ServiceID)
	}
	return f.writer.WriteBatched(ctx, func(ctx context.Context) error {
		cluster, err := f.store.ClusterByID(ctx, clusterID)
		if err != nil {
			return err
		}
		known, err := f.store.RowsByID(ctx, ids)
		if err != nil {
			return err
		}
		rows := make(map[string]Row, len(known))
		for _, row := range known {
			rows[row.ID] = row
		}
		for _, r := range runs {
			if row, exists := rows[r.ServiceID]; exists && row.ClusterID == clusterID {
				if err := f.storeTestRun(ctx, cluster, row, r); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (f *Fleet) storeTestRun(ctx context.Context, cluster Cluster, row Row, r TestRun) error {
	before, err := f.store.TestRunState(ctx, r.ServiceID, r.Key)
	if err != nil {
		return err
	}
	r.CreatedAt = f.now()
	r.ReportedAt = r.CreatedAt
	if err := f.store.PutTestRun(ctx, r); err != nil {
		return err
	}
	if before == "" {
		if err := f.store.TrimTestRuns(ctx, r.ServiceID, keptTestRuns); err != nil {
			return err
		}
	}
	if before == r.State || !r.State.Ended() {
		return nil
	}
	entry := event.Entry{Kind: "service.tests_passed", Object: "service " + Ref{cluster.Name, row.Name}.String(), By: "agent " + cluster.Name,
		Message: "revision " + short(r.SourceRevision), Cluster: row.ClusterID, Service: row.ID}
	if r.State == TestFailed {
		entry.Kind, entry.Message = "service.tests_failed", r.Message
	}
	return event.Record(ctx, entry)
}

// TestRuns returns how a service's tests ran, the newest first; revision zero
// is all that are kept.
func (f *Fleet) TestRuns(ctx context.Context, ref Ref, revision int64) ([]TestRun, error) {
	if revision < 0 {
		return nil, errcode.New(errcode.Invalid, "a revision counts from 1")
	}
	s, err := f.serviceFor(ctx, ref)
	if err != nil {
		return nil, err
	}
	all, err := f.store.TestRuns(ctx, s.ID)
	if err != nil || revision == 0 {
		return all, err
	}
	var some []TestRun
	for _, r := range all {
		if r.Revision == revision {
			some = append(some, r)
		}
	}
	return some, nil
}
