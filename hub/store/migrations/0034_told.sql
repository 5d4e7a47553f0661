-- +goose Up
-- The version of contexts and outputs that all their services have.
ALTER TABLE bags ADD COLUMN told BIGINT NOT NULL DEFAULT 0;
CREATE INDEX bags_untold ON bags (kind, name) WHERE told <> version;
CREATE INDEX bags_by_document ON bags (document);
