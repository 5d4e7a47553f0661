-- +goose Up
-- What people want to see compared and nobody applies; kept for an hour.
CREATE TABLE previews (
    service_id   TEXT   NOT NULL,
    request      BIGINT NOT NULL,
    cluster_id   TEXT   NOT NULL,
    actor        TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    revision     BIGINT NOT NULL DEFAULT 0,
    parts        TEXT   NOT NULL,
    files_digest TEXT   NOT NULL DEFAULT '',
    files        TEXT   NOT NULL DEFAULT '',
    answered     BIGINT NOT NULL DEFAULT 0,
    made_at      BIGINT NOT NULL DEFAULT 0,
    error        TEXT   NOT NULL DEFAULT '',
    differences  TEXT   NOT NULL DEFAULT '',
    PRIMARY KEY (service_id, request)
);
CREATE INDEX previews_open ON previews (cluster_id, answered, request);
CREATE INDEX previews_age ON previews (created_at);
