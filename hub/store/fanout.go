package store

import (
	"context"

	"github.com/axle-cd/axle/hub/fanout"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/internal/errcode"
)

var _ fanout.Store = (*Store)(nil)

const rolloutColumns = `SELECT id, subject, version, payload, previous, previous_payload, plan, phase, wave, wave_at,
	accepted, message, actor, created_at, updated_at FROM rollouts `

func scanRollout(row scan) (r fanout.Rollout, err error) {
	var plan string
	err = row(&r.ID, &r.Subject, &r.Version, &r.Payload, &r.Previous, &r.PreviousPayload, &plan, &r.Phase, &r.Wave, &r.WaveAt,
		&r.Accepted, &r.Message, &r.By, &r.CreatedAt, &r.UpdatedAt)
	if err != nil {
		return r, err
	}
	return r, fromJSON(plan, &r.Plan)
}

// InsertRollout implements fanout.Store.
func (s *Store) InsertRollout(ctx context.Context, r fanout.Rollout) error {
	plan, err := jsonText(r.Plan)
	if err != nil {
		return err
	}
	inserted, err := s.execOne(ctx, `INSERT INTO rollouts (id, subject, version, payload, previous, previous_payload, plan,
		phase, wave, wave_at, accepted, message, actor, created_at, updated_at)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15
		WHERE NOT EXISTS (SELECT 1 FROM rollouts WHERE subject = $2 AND phase IN ('Progressing', 'Paused', 'Stopped', 'Aborting'))`,
		r.ID, r.Subject, r.Version, r.Payload, r.Previous, r.PreviousPayload, plan,
		r.Phase, r.Wave, r.WaveAt, r.Accepted, r.Message, r.By, r.CreatedAt, r.UpdatedAt)
	if err == nil && !inserted {
		return errcode.New(errcode.Conflict, "a rollout of %s is running; wait for its end or abort it", r.Subject)
	}
	return err
}

// UpdateRollout implements fanout.Store.
func (s *Store) UpdateRollout(ctx context.Context, r fanout.Rollout) error {
	changed, err := s.execOne(ctx, `UPDATE rollouts SET phase = $2, wave = $3, wave_at = $4, accepted = $5, message = $6,
		updated_at = $7 WHERE id = $1`, r.ID, r.Phase, r.Wave, r.WaveAt, r.Accepted, r.Message, r.UpdatedAt)
	if err == nil && !changed {
		return errcode.New(errcode.NotFound, "rollout %s does not exist", r.ID)
	}
	return err
}

// LatestRollout implements fanout.Store.
func (s *Store) LatestRollout(ctx context.Context, subject string) (fanout.Rollout, error) {
	r, found, err := rowOf(ctx, s, scanRollout, rolloutColumns+"WHERE subject = $1 ORDER BY created_at DESC, id DESC LIMIT 1", subject)
	if err == nil && !found {
		return r, errcode.New(errcode.NotFound, "%s was never rolled out", subject)
	}
	return r, err
}

// RolloutTargets implements fanout.Store.
func (s *Store) RolloutTargets(ctx context.Context, rolloutID string, clusterIDs []string) (all []fanout.Target, err error) {
	read := func(where string, args ...any) error {
		return s.each(ctx, `SELECT rollout_id, cluster_id, wave, state, placed_at, good_since, message FROM rollout_targets
			WHERE rollout_id = $1`+where+" ORDER BY wave, cluster_id", append([]any{rolloutID}, args...), func(row scan) error {
			var t fanout.Target
			err := row(&t.RolloutID, &t.ClusterID, &t.Wave, &t.State, &t.PlacedAt, &t.GoodSince, &t.Message)
			all = append(all, t)
			return err
		})
	}
	if clusterIDs == nil {
		return all, read("")
	}
	return all, chunks(clusterIDs, func(args []any) error {
		return read(" AND cluster_id IN ("+placeholders(2, len(args))+")", args...)
	})
}

// PutRolloutTargets implements fanout.Store.
func (s *Store) PutRolloutTargets(ctx context.Context, targets []fanout.Target) error {
	var rows query.Values
	at := map[string]int{} // of several for one cluster, the last one wins
	for i, t := range targets {
		at[t.ClusterID] = i
	}
	for i, t := range targets {
		if at[t.ClusterID] == i {
			rows.Add(t.RolloutID, t.ClusterID, t.Wave, t.State, t.PlacedAt, t.GoodSince, t.Message)
		}
	}
	return rows.Each(func(list string, args []any) error {
		_, err := s.exec(ctx, `INSERT INTO rollout_targets (rollout_id, cluster_id, wave, state, placed_at, good_since, message)
			VALUES `+list+` ON CONFLICT (rollout_id, cluster_id) DO UPDATE SET wave = excluded.wave,
			state = excluded.state, placed_at = excluded.placed_at, good_since = excluded.good_since, message = excluded.message`, args...)
		return err
	})
}

// DeleteRolloutTargets implements fanout.Store.
func (s *Store) DeleteRolloutTargets(ctx context.Context, rolloutID string, clusterIDs []string) error {
	return chunks(clusterIDs, func(args []any) error {
		_, err := s.exec(ctx, "DELETE FROM rollout_targets WHERE rollout_id = $1 AND cluster_id IN ("+placeholders(2, len(args))+")",
			append([]any{rolloutID}, args...)...)
		return err
	})
}
