-- +goose Up
-- The tags of a cluster that count for global services without a project, each with the
-- value for which it counts: those that an administrator set, and those of before this
-- record, which count until they change or an administrator sets them.
ALTER TABLE clusters ADD COLUMN admin_tags TEXT NOT NULL DEFAULT '{}';
ALTER TABLE clusters ADD COLUMN former_tags TEXT NOT NULL DEFAULT '{}';
UPDATE clusters SET former_tags = tags;
