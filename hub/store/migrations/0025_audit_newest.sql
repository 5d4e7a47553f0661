-- +goose Up
-- When the newest record up to a checkpoint was made, by the records: signed
-- with it, so that a cut says what it dropped.
ALTER TABLE audit_checkpoints ADD COLUMN newest BIGINT NOT NULL DEFAULT 0;
