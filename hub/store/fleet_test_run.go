package store

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet"
)

// PutTestRun implements fleet.TestRunStore.
func (s *Store) PutTestRun(ctx context.Context, r fleet.TestRun) error {
	tests, err := jsonText(r.Tests)
	if err != nil {
		return err
	}
	_, err = s.exec(ctx, `INSERT INTO test_runs (service_id, run_key, revision, source_revision, tarball_digest, spec_digest,
		state, message, started_at, ended_at, created_at, reported_at, tests)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
		ON CONFLICT (service_id, run_key) DO UPDATE SET revision = excluded.revision, source_revision = excluded.source_revision,
		tarball_digest = excluded.tarball_digest, spec_digest = excluded.spec_digest, state = excluded.state,
		message = excluded.message, started_at = excluded.started_at, ended_at = excluded.ended_at,
		reported_at = excluded.reported_at, tests = excluded.tests`,
		r.ServiceID, r.Key, r.Revision, r.SourceRevision, r.TarballDigest, r.SpecDigest, r.State, r.Message,
		r.StartedAt, r.EndedAt, r.CreatedAt, r.ReportedAt, tests)
	return err
}

// TestRunState implements fleet.TestRunStore.
func (s *Store) TestRunState(ctx context.Context, serviceID, key string) (fleet.TestState, error) {
	state, _, err := rowOf(ctx, s, value[fleet.TestState], "SELECT state FROM test_runs WHERE service_id = $1 AND run_key = $2", serviceID, key)
	return state, err
}

// TestRuns implements fleet.TestRunStore.
func (s *Store) TestRuns(ctx context.Context, serviceID string) ([]fleet.TestRun, error) {
	return rowsOf(ctx, s, scanTestRun, `SELECT service_id, run_key, revision, source_revision, tarball_digest, spec_digest,
		state, message, started_at, ended_at, created_at, reported_at, tests
		FROM test_runs WHERE service_id = $1 ORDER BY created_at DESC, revision DESC, run_key`, serviceID)
}

func scanTestRun(row scan) (r fleet.TestRun, err error) {
	var tests string
	err = row(&r.ServiceID, &r.Key, &r.Revision, &r.SourceRevision, &r.TarballDigest, &r.SpecDigest, &r.State, &r.Message,
		&r.StartedAt, &r.EndedAt, &r.CreatedAt, &r.ReportedAt, &tests)
	if err != nil {
		return r, err
	}
	return r, fromJSON(tests, &r.Tests)
}

// TrimTestRuns implements fleet.TestRunStore.
func (s *Store) TrimTestRuns(ctx context.Context, serviceID string, keep int) error {
	_, err := s.exec(ctx, `DELETE FROM test_runs WHERE service_id = $1 AND run_key NOT IN
		(SELECT run_key FROM test_runs WHERE service_id = $1 ORDER BY created_at DESC, revision DESC, run_key LIMIT $2)`, serviceID, keep)
	return err
}
