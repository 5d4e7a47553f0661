package agentapi

import (
	"context"

	"connectrpc.com/connect"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/errcode"
)

// The limits of reported test runs.
const (
	maxTestRuns  = 50
	maxTests     = 100
	maxTestCases = 50
	maxTestKey   = 128
)

// ReportTests stores the state of tests; when it answers, it is committed.
func (c calls) ReportTests(ctx context.Context, req *connect.Request[agentv1.ReportTestsRequest]) (*connect.Response[agentv1.ReportTestsResponse], error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	if len(req.Msg.GetRuns()) > maxTestRuns {
		return nil, errcode.New(errcode.Invalid, "a report carries at most %d runs of tests; send it in parts", maxTestRuns)
	}
	var runs []fleet.TestRun
	for _, m := range req.Msg.GetRuns() {
		run, err := testRun(m)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	if err := c.config.Keys.CheckBoot(ctx, p.ID, req.Msg.GetBootId()); err != nil {
		return nil, err
	}
	if err := c.config.Fleet.StoreTestRuns(ctx, p.ID, runs); err != nil {
		return nil, err
	}
	return connect.NewResponse(&agentv1.ReportTestsResponse{}), nil
}

func testRun(m *agentv1.TestRun) (fleet.TestRun, error) {
	if m.GetServiceId() == "" || m.GetKey() == "" || len(m.GetKey()) > maxTestKey {
		return fleet.TestRun{}, errcode.New(errcode.Invalid, "a run of tests must name its service and what it tests")
	}
	if len(m.GetTests()) > maxTests {
		return fleet.TestRun{}, errcode.New(errcode.Invalid, "a run has %d tests; at most %d are allowed", len(m.GetTests()), maxTests)
	}
	r := fleet.TestRun{
		ServiceID: m.GetServiceId(), Key: m.GetKey(), Revision: m.GetRevision(), SourceRevision: m.GetSourceRevision(),
		TarballDigest: m.GetTarballDigest(), SpecDigest: m.GetSpecDigest(), State: testState(m.GetState()), Message: m.GetMessage(),
		StartedAt: m.GetStartedAt(), EndedAt: m.GetEndedAt(), Tests: []fleet.TestResult{},
	}
	for _, t := range m.GetTests() {
		r.Tests = append(r.Tests, testResult(t))
	}
	return r, nil
}

func testResult(m *agentv1.TestResult) fleet.TestResult {
	t := fleet.TestResult{
		Namespace: m.GetNamespace(), Name: m.GetName(), State: testState(m.GetState()), Attempt: int(m.GetAttempt()), Attempts: int(m.GetAttempts()),
		StartedAt: m.GetStartedAt(), EndedAt: m.GetEndedAt(), Message: m.GetMessage(), Tail: m.GetTail(), LogBytes: m.GetLogBytes(),
	}
	if j := m.GetReport(); j != nil {
		t.Report = &fleet.TestReport{Tests: int(j.GetTests()), Failures: int(j.GetFailures()), Errors: int(j.GetErrors()), Skipped: int(j.GetSkipped()), Duration: j.GetDurationMicros()}
		for _, c := range j.GetFailed()[:min(maxTestCases, len(j.GetFailed()))] {
			t.Report.Failed = append(t.Report.Failed, fleet.TestCase{Suite: c.GetSuite(), Name: c.GetName(), Message: c.GetMessage()})
		}
	}
	return t
}

// testState maps unknown words, like syncOf.
func testState(word string) fleet.TestState {
	switch s := fleet.TestState(word); s {
	case fleet.TestWaiting, fleet.TestRunning, fleet.TestPassed, fleet.TestFailed:
		return s
	}
	return fleet.TestWaiting
}
