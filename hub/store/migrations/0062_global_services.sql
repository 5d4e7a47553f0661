-- +goose Up
-- A service that runs on every cluster that it selects. Its template is a row of
-- specs whose owner it is. project_id is empty for clusters of all projects.
-- version grows with each change; deleting is set until its services are released.
CREATE TABLE global_services (
    id              TEXT   NOT NULL PRIMARY KEY,
    name            TEXT   NOT NULL UNIQUE,
    project_id      TEXT   NOT NULL,
    selectors       TEXT   NOT NULL,
    cascade         TEXT   NOT NULL,
    reparent        BIGINT NOT NULL,
    interval        BIGINT NOT NULL,
    context         TEXT   NOT NULL,
    spec_version    BIGINT NOT NULL,
    version         BIGINT NOT NULL,
    deleting        BIGINT NOT NULL,
    managed_by_tool TEXT   NOT NULL,
    managed_by_id   TEXT   NOT NULL,
    declared_by     TEXT   NOT NULL,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL
);

-- What has to be compared: a global service with all clusters (cluster_id is
-- empty), or a cluster with all global services (global_id is empty).
CREATE TABLE global_pending (
    global_id  TEXT   NOT NULL,
    cluster_id TEXT   NOT NULL,
    edition    BIGINT NOT NULL,
    PRIMARY KEY (global_id, cluster_id)
);

-- Clusters that a global service selects and on which it could not be made.
CREATE TABLE global_failures (
    global_id  TEXT   NOT NULL,
    cluster_id TEXT   NOT NULL,
    message    TEXT   NOT NULL,
    at         BIGINT NOT NULL,
    PRIMARY KEY (global_id, cluster_id)
);
CREATE INDEX global_failures_by_cluster ON global_failures (cluster_id);

-- The global service whose specs and revisions the service shares: then
-- revisions.service_id is the global service's id. Empty is its own.
ALTER TABLE services ADD COLUMN owner_id TEXT NOT NULL DEFAULT '';
CREATE INDEX services_by_owner ON services (owner_id, id) WHERE owner_id <> '';
-- The services that a global service made, with specs of their own or not.
CREATE INDEX services_by_maker ON services (managed_by_id, id) WHERE managed_by_tool = 'hub';
