// Package rollouts stores rollouts and their target clusters in the hub's
// database. hub/store embeds its Table; hub/fanout decides what happens next.
package rollouts

import (
	"context"

	"github.com/axle-cd/axle/hub/fanout"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/errcode"
)

var (
	_ fanout.RolloutStore = (*Table)(nil)
	_ fanout.TargetStore  = (*Table)(nil)
)

// Table holds all rollouts. Its methods are safe for concurrent use.
type Table struct{ db query.DB }

// New returns the rollouts in a database.
func New(db query.DB) *Table { return &Table{db} }

// Queries are the queries that read each table, for tests.
var Queries = map[rows.Definition]string{rolloutTable: selectRollouts, targetTable: selectTargets}

var (
	rolloutTable = rows.Of("rollouts", func(c *rows.Columns, r *fanout.Rollout) {
		rows.JSON(c, "plan", &r.Plan)
		rows.Col(c, "actor", &r.By)
		rows.Fields(c, r)
	})
	selectRollouts = rolloutTable.Select()
	// insertRollout adds one unless another of the same subject is running.
	insertRollout = rolloutTable.All().Statement(`INSERT INTO rollouts ({columns}) SELECT {values}
		WHERE NOT EXISTS (SELECT 1 FROM rollouts WHERE subject = {subject} AND phase IN ('Progressing', 'Paused', 'Stopped', 'Aborting'))`)
	updateRollout = rolloutTable.Only("id", "phase", "wave", "wave_at", "accepted", "message", "updated_at", "managed_by_tool", "managed_by_id").Update("id")

	targetTable   = rows.Of("rollout_targets", rows.Fields[fanout.Target])
	selectTargets = targetTable.Select()
	putTargets    = targetTable.All().UpsertMany("rollout_id", "cluster_id")
)

// InsertRollout implements fanout.RolloutStore.
func (s *Table) InsertRollout(ctx context.Context, r fanout.Rollout) error {
	return insertRollout.ExecElse(ctx, s.db, errcode.New(errcode.Conflict, "a rollout of %s is running; wait for its end or abort it", r.Subject), &r)
}

// UpdateRollout implements fanout.RolloutStore.
func (s *Table) UpdateRollout(ctx context.Context, r fanout.Rollout) error {
	return updateRollout.ExecElse(ctx, s.db, errcode.New(errcode.NotFound, "rollout %s does not exist", r.ID), &r)
}

// LatestRollout implements fanout.RolloutStore.
func (s *Table) LatestRollout(ctx context.Context, subject string) (fanout.Rollout, error) {
	return query.Need(ctx, s.db, errcode.New(errcode.NotFound, "%s was never rolled out", subject), rolloutTable.Reader(), selectRollouts+"WHERE subject = $1 ORDER BY created_at DESC, id DESC LIMIT 1", subject)
}

// RolloutTargets implements fanout.TargetStore.
func (s *Table) RolloutTargets(ctx context.Context, rolloutID string, clusterIDs []string) (all []fanout.Target, err error) {
	read := func(where string, args ...any) error {
		return query.Stream(ctx, s.db, targetTable.Reader(), func(t fanout.Target) error {
			all = append(all, t)
			return nil
		}, selectTargets+"WHERE rollout_id = $1"+where+" ORDER BY wave, cluster_id", append([]any{rolloutID}, args...)...)
	}
	if clusterIDs == nil {
		return all, read("")
	}
	return all, query.Chunks(clusterIDs, func(args []any) error {
		return read(" AND cluster_id IN ("+query.Placeholders(2, len(args))+")", args...)
	})
}

// PutRolloutTargets implements fanout.TargetStore.
func (s *Table) PutRolloutTargets(ctx context.Context, targets []fanout.Target) error {
	at := map[string]int{} // of several for one cluster, the last one wins
	for i, t := range targets {
		at[t.ClusterID] = i
	}
	last := make([]fanout.Target, 0, len(at))
	for i, t := range targets {
		if at[t.ClusterID] == i {
			last = append(last, t)
		}
	}
	_, err := putTargets.Exec(ctx, s.db, last)
	return err
}

// DeleteRolloutTargets implements fanout.TargetStore.
func (s *Table) DeleteRolloutTargets(ctx context.Context, rolloutID string, clusterIDs []string) error {
	return query.Chunks(clusterIDs, func(args []any) error {
		_, err := s.db.Exec(ctx, "DELETE FROM rollout_targets WHERE rollout_id = $1 AND cluster_id IN ("+query.Placeholders(2, len(args))+")",
			append([]any{rolloutID}, args...)...)
		return err
	})
}
