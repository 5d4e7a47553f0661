-- +goose Up
-- The machines of a cluster that are replaced: a JSON list, empty for none.
ALTER TABLE clusters ADD COLUMN replacing TEXT NOT NULL DEFAULT '';
-- Counts the changes of that list, at the service that makes the cluster: its digest changes.
ALTER TABLE services ADD COLUMN machine_request BIGINT NOT NULL DEFAULT 0;
