-- +goose Up
-- Why the failure of a cluster does not count against its rollout: empty, 'Before' for one
-- that failed before the rollout reached it, or 'Accepted' by a person. And how often the
-- cluster was well and then no longer.
ALTER TABLE rollout_targets ADD COLUMN excuse TEXT NOT NULL DEFAULT '';
ALTER TABLE rollout_targets ADD COLUMN relapses BIGINT NOT NULL DEFAULT 0;
UPDATE rollout_targets SET excuse = 'Accepted' WHERE state = 'Failed'
    AND rollout_id IN (SELECT id FROM rollouts WHERE accepted > 0);
