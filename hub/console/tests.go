package console

import (
	"context"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/fleet"
)

// ListTests returns how a service's tests ran.
func (s *services) ListTests(ctx context.Context, r *connect.Request[hubv1.ListTestsRequest]) (*connect.Response[hubv1.ListTestsResponse], error) {
	runs, err := s.Fleet.TestRuns(ctx, ref(r.Msg.GetRef()), r.Msg.GetRevision())
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListTestsResponse{}
	for _, run := range runs {
		out.Runs = append(out.Runs, testRun(run))
	}
	return connect.NewResponse(out), nil
}

func testRun(r fleet.TestRun) *hubv1.TestRun {
	out := &hubv1.TestRun{
		Key: r.Key, Revision: r.Revision, SourceRevision: r.SourceRevision, TarballDigest: r.TarballDigest, State: string(r.State), Message: r.Message,
		StartedAt: r.StartedAt, EndedAt: r.EndedAt, ReportedAt: r.ReportedAt,
	}
	for _, t := range r.Tests {
		one := &hubv1.TestResult{
			Namespace: t.Namespace, Name: t.Name, State: string(t.State), Attempt: int32(t.Attempt), Attempts: int32(t.Attempts),
			StartedAt: t.StartedAt, EndedAt: t.EndedAt, Message: t.Message, Tail: t.Tail, LogBytes: t.LogBytes,
		}
		if j := t.Report; j != nil {
			one.Report = &hubv1.TestReport{Tests: int32(j.Tests), Failures: int32(j.Failures), Errors: int32(j.Errors), Skipped: int32(j.Skipped), DurationMicros: j.Duration}
			for _, c := range j.Failed {
				one.Report.Failed = append(one.Report.Failed, &hubv1.TestCase{Suite: c.Suite, Name: c.Name, Message: c.Message})
			}
		}
		out.Tests = append(out.Tests, one)
	}
	return out
}
