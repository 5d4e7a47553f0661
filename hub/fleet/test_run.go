package fleet

import (
	"context"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/errcode"
)

// keptTestRuns is how many runs of a service's tests are kept: as many as
// revisions.
const keptTestRuns = 20

// TestRunStore stores runs of tests.
type TestRunStore interface {
	// PutTestRun stores a run. It replaces an earlier report of the run and
	// keeps its creation time.
	PutTestRun(ctx context.Context, r TestRun) error
	// TestRunState returns the state of a run, empty when it is unknown.
	TestRunState(ctx context.Context, serviceID, key string) (TestState, error)
	// TestRuns returns a service's runs, most recently created first.
	TestRuns(ctx context.Context, serviceID string) ([]TestRun, error)
	// TrimTestRuns removes all but the newest keep.
	TrimTestRuns(ctx context.Context, serviceID string, keep int) error
}

// StoreTestRuns stores the runs of tests that an agent reports. Runs of other
// clusters' services are ignored.
func (f *reports) StoreTestRuns(ctx context.Context, clusterID string, runs []TestRun) error {
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

func (f *reports) storeTestRun(ctx context.Context, cluster Cluster, row Row, r TestRun) error {
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

// TestRuns returns the runs of a service's tests, newest first; revision zero
// means all kept runs.
func (f *Fleet) TestRuns(ctx context.Context, ref Ref, revision int64) ([]TestRun, error) {
	if revision < 0 {
		return nil, errcode.New(errcode.Invalid, "revision: give a number from 1 on")
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
