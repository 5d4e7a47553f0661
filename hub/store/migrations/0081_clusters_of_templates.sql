-- +goose Up
-- How a cluster came to be that was made from a template: a JSON object, empty for others, and
-- the id of the cluster that holds its objects.
ALTER TABLE clusters ADD COLUMN origin TEXT NOT NULL DEFAULT '';
ALTER TABLE clusters ADD COLUMN management_id TEXT NOT NULL DEFAULT '';
-- Whether its machines are being removed.
ALTER TABLE clusters ADD COLUMN destroying BIGINT NOT NULL DEFAULT 0;
CREATE INDEX clusters_destroying ON clusters (destroying) WHERE destroying <> 0;
CREATE INDEX clusters_made ON clusters (management_id) WHERE management_id <> '';

-- Content of Git that an object was found to name when it was declared: JSON of its kind.
ALTER TABLE objects ADD COLUMN pinned TEXT NOT NULL DEFAULT '';
