package store

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/store/rows"
)

var (
	testRunTable = rows.Of("test_runs", func(c *rows.Columns, r *fleet.TestRun) {
		rows.Col(c, "run_key", &r.Key)
		rows.JSON(c, "tests", &r.Tests)
		rows.Fields(c, r)
	})
	selectTestRuns = testRunTable.Select()
	putTestRun     = testRunTable.All().Keep("created_at").Upsert("service_id", "run_key")
)

// PutTestRun implements fleet.TestRunStore.
func (s *Store) PutTestRun(ctx context.Context, r fleet.TestRun) error {
	_, err := wrote(ctx, s, putTestRun, &r)
	return err
}

// TestRunState implements fleet.TestRunStore.
func (s *Store) TestRunState(ctx context.Context, serviceID, key string) (fleet.TestState, error) {
	state, _, err := rowOf(ctx, s, value[fleet.TestState], "SELECT state FROM test_runs WHERE service_id = $1 AND run_key = $2", serviceID, key)
	return state, err
}

// TestRuns implements fleet.TestRunStore.
func (s *Store) TestRuns(ctx context.Context, serviceID string) ([]fleet.TestRun, error) {
	return rowsOf(ctx, s, testRunTable.Reader(), selectTestRuns+"WHERE service_id = $1 ORDER BY created_at DESC, revision DESC, run_key", serviceID)
}

// TrimTestRuns implements fleet.TestRunStore.
func (s *Store) TrimTestRuns(ctx context.Context, serviceID string, keep int) error {
	_, err := s.exec(ctx, `DELETE FROM test_runs WHERE service_id = $1 AND run_key NOT IN
		(SELECT run_key FROM test_runs WHERE service_id = $1 ORDER BY created_at DESC, revision DESC, run_key LIMIT $2)`, serviceID, keep)
	return err
}
