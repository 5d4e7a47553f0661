-- +goose Up
-- What applying a service would change, as its agent last worked it out.
CREATE TABLE diffs (
    service_id      TEXT   NOT NULL PRIMARY KEY,
    request         BIGINT NOT NULL,
    revision        BIGINT NOT NULL,
    source_revision TEXT   NOT NULL DEFAULT '',
    made_at         BIGINT NOT NULL,
    reported_at     BIGINT NOT NULL,
    error           TEXT   NOT NULL DEFAULT '',
    differences     TEXT   NOT NULL DEFAULT ''
);
-- What people asked of a service: a diff, and a sync of some objects alone.
ALTER TABLE services ADD COLUMN diff_request BIGINT NOT NULL DEFAULT 0;
ALTER TABLE services ADD COLUMN sync_resources TEXT NOT NULL DEFAULT '';
