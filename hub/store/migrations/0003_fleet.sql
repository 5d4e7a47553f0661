-- +goose Up
CREATE TABLE projects (
    id          TEXT   NOT NULL PRIMARY KEY,
    name        TEXT   NOT NULL UNIQUE,
    description TEXT   NOT NULL,
    created_at  BIGINT NOT NULL
);
INSERT INTO projects (id, name, description, created_at) VALUES ('prj_default', 'default', '', 0);

CREATE TABLE clusters (
    id                 TEXT   NOT NULL PRIMARY KEY,
    name               TEXT   NOT NULL UNIQUE,
    handle             TEXT   NOT NULL UNIQUE,
    project_id         TEXT   NOT NULL,
    tags               TEXT   NOT NULL,
    metadata           TEXT   NOT NULL,
    distro             TEXT   NOT NULL,
    kubernetes_version TEXT   NOT NULL,
    agent_version      TEXT   NOT NULL,
    nodes              BIGINT NOT NULL,
    cluster_uid        TEXT   NOT NULL,
    registered_at      BIGINT NOT NULL,
    pending            BIGINT NOT NULL,
    message            TEXT   NOT NULL,
    poll_interval      BIGINT NOT NULL,
    pinged_at          BIGINT NOT NULL,
    created_at         BIGINT NOT NULL,
    updated_at         BIGINT NOT NULL
);
CREATE INDEX clusters_by_project ON clusters (project_id);

-- spec is what is declared, without the values of secrets, which are sealed in
-- secrets. source_id is what is followed; revision, source_revision to
-- committed_at and spec_digest are what the cluster should run.
CREATE TABLE services (
    id                 TEXT   NOT NULL PRIMARY KEY,
    cluster_id         TEXT   NOT NULL DEFAULT '',
    name               TEXT   NOT NULL DEFAULT '',
    namespace          TEXT   NOT NULL DEFAULT '',
    project_id         TEXT   NOT NULL DEFAULT '',
    spec               TEXT   NOT NULL DEFAULT '',
    secrets            TEXT   NOT NULL DEFAULT '',
    source_id          TEXT   NOT NULL DEFAULT '',
    repository_id      TEXT   NOT NULL DEFAULT '',
    revision           BIGINT NOT NULL DEFAULT 0,
    content_repository TEXT   NOT NULL DEFAULT '',
    source_revision    TEXT   NOT NULL DEFAULT '',
    digest             TEXT   NOT NULL DEFAULT '',
    entry              TEXT   NOT NULL DEFAULT '',
    size               BIGINT NOT NULL DEFAULT 0,
    message            TEXT   NOT NULL DEFAULT '',
    author             TEXT   NOT NULL DEFAULT '',
    committed_at       BIGINT NOT NULL DEFAULT 0,
    spec_digest        TEXT   NOT NULL DEFAULT '',
    paused             BIGINT NOT NULL DEFAULT 0,
    pinned_revision    BIGINT NOT NULL DEFAULT 0,
    undelivered        BIGINT NOT NULL DEFAULT 0,
    deleting           TEXT   NOT NULL DEFAULT '',
    tombstone_id       TEXT   NOT NULL DEFAULT '',
    sync_request       BIGINT NOT NULL DEFAULT 0,
    prune_approval     BIGINT NOT NULL DEFAULT 0,
    parent_id          TEXT   NOT NULL DEFAULT '',
    revised_at         BIGINT NOT NULL DEFAULT 0,
    created_at         BIGINT NOT NULL DEFAULT 0,
    updated_at         BIGINT NOT NULL DEFAULT 0,
    UNIQUE (cluster_id, name)
);
CREATE INDEX services_by_source ON services (source_id);
CREATE INDEX services_by_repository ON services (repository_id);
CREATE INDEX services_by_project ON services (project_id);

CREATE TABLE revisions (
    service_id      TEXT   NOT NULL,
    number          BIGINT NOT NULL,
    repository_id   TEXT   NOT NULL DEFAULT '',
    source_revision TEXT   NOT NULL DEFAULT '',
    digest          TEXT   NOT NULL DEFAULT '',
    entry           TEXT   NOT NULL DEFAULT '',
    size            BIGINT NOT NULL DEFAULT 0,
    message         TEXT   NOT NULL DEFAULT '',
    author          TEXT   NOT NULL DEFAULT '',
    committed_at    BIGINT NOT NULL DEFAULT 0,
    spec_digest     TEXT   NOT NULL DEFAULT '',
    cause           TEXT   NOT NULL DEFAULT '',
    actor           TEXT   NOT NULL DEFAULT '',
    created_at      BIGINT NOT NULL DEFAULT 0,
    spec            TEXT   NOT NULL DEFAULT '',
    secrets         TEXT   NOT NULL DEFAULT '',
    PRIMARY KEY (service_id, number)
);
CREATE INDEX revisions_by_repository ON revisions (repository_id, digest);

CREATE TABLE statuses (
    service_id      TEXT   NOT NULL PRIMARY KEY,
    cluster_id      TEXT   NOT NULL,
    hash            TEXT   NOT NULL,
    reported_at     BIGINT NOT NULL,
    sync            TEXT   NOT NULL,
    reason          TEXT   NOT NULL,
    health          TEXT   NOT NULL,
    message         TEXT   NOT NULL,
    errors          TEXT   NOT NULL,
    tarball_digest  TEXT   NOT NULL,
    spec_digest     TEXT   NOT NULL,
    revision        BIGINT NOT NULL,
    source_revision TEXT   NOT NULL,
    applied_at      BIGINT NOT NULL,
    counts          TEXT   NOT NULL,
    components      TEXT   NOT NULL
);
CREATE INDEX statuses_by_cluster ON statuses (cluster_id, service_id);
