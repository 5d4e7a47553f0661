-- +goose Up
-- How the tests of a service ran, a row for each thing that was tested.
-- Promotion asks for a service and a revision.
CREATE TABLE test_runs (
    service_id      TEXT   NOT NULL,
    run_key         TEXT   NOT NULL,
    revision        BIGINT NOT NULL,
    source_revision TEXT   NOT NULL DEFAULT '',
    tarball_digest  TEXT   NOT NULL DEFAULT '',
    spec_digest     TEXT   NOT NULL DEFAULT '',
    state           TEXT   NOT NULL,
    message         TEXT   NOT NULL DEFAULT '',
    started_at      BIGINT NOT NULL DEFAULT 0,
    ended_at        BIGINT NOT NULL DEFAULT 0,
    created_at      BIGINT NOT NULL,
    reported_at     BIGINT NOT NULL,
    tests           TEXT   NOT NULL,
    PRIMARY KEY (service_id, run_key)
);
CREATE INDEX test_runs_by_revision ON test_runs (service_id, revision);
