-- +goose Up
CREATE TABLE repositories (
    id             TEXT   NOT NULL PRIMARY KEY,
    name           TEXT   NOT NULL UNIQUE,
    project_id     TEXT   NOT NULL DEFAULT '',
    kind           TEXT   NOT NULL,
    url            TEXT   NOT NULL,
    auth           TEXT   NOT NULL DEFAULT '',
    credentials    TEXT   NOT NULL DEFAULT '',
    generation     BIGINT NOT NULL,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL,
    health         TEXT   NOT NULL,
    health_message TEXT   NOT NULL DEFAULT '',
    checked_at     BIGINT NOT NULL DEFAULT 0,
    fetched_at     BIGINT NOT NULL DEFAULT 0,
    failed_since   BIGINT NOT NULL DEFAULT 0,
    bytes          BIGINT NOT NULL DEFAULT 0
);

-- Beside the repositories, so that renewals do not collide with their rows.
CREATE TABLE repository_leases (
    repository_id     TEXT   NOT NULL PRIMARY KEY REFERENCES repositories (id) ON DELETE CASCADE,
    replica           TEXT   NOT NULL DEFAULT '',
    boot              TEXT   NOT NULL DEFAULT '',
    epoch             BIGINT NOT NULL DEFAULT 0,
    expires_at        BIGINT NOT NULL DEFAULT 0,
    fetch_started_at  BIGINT NOT NULL DEFAULT 0,
    kick_requested_at BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX repository_leases_by_holder ON repository_leases (replica, boot);

CREATE TABLE sources (
    id            TEXT   NOT NULL PRIMARY KEY,
    repository_id TEXT   NOT NULL REFERENCES repositories (id) ON DELETE CASCADE,
    ref           TEXT   NOT NULL,
    folder        TEXT   NOT NULL,
    files         TEXT   NOT NULL,
    put_at        BIGINT NOT NULL
);
CREATE INDEX sources_by_repository ON sources (repository_id);

CREATE TABLE heads (
    source_id     TEXT   NOT NULL PRIMARY KEY REFERENCES sources (id) ON DELETE CASCADE,
    repository_id TEXT   NOT NULL,
    revision      TEXT   NOT NULL,
    message       TEXT   NOT NULL,
    author        TEXT   NOT NULL,
    committed_at  BIGINT NOT NULL,
    digest        TEXT   NOT NULL,
    size          BIGINT NOT NULL,
    entry         TEXT   NOT NULL,
    change_key    TEXT   NOT NULL,
    epoch         BIGINT NOT NULL,
    fetch_seq     BIGINT NOT NULL,
    fetched_at    BIGINT NOT NULL,
    error         TEXT   NOT NULL,
    error_code    TEXT   NOT NULL,
    error_since   BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL
);
CREATE INDEX heads_by_repository ON heads (repository_id);

CREATE TABLE artifacts (
    digest        TEXT   NOT NULL PRIMARY KEY,
    repository_id TEXT   NOT NULL,
    commit_id     TEXT   NOT NULL,
    recipe        TEXT   NOT NULL,
    size          BIGINT NOT NULL,
    files         BIGINT NOT NULL,
    bytes         BIGINT NOT NULL,
    created_at    BIGINT NOT NULL
);
CREATE INDEX artifacts_by_repository ON artifacts (repository_id);

-- What heads pointed at before, for agents that have yet to hear of the news.
CREATE TABLE superseded (
    digest TEXT   NOT NULL PRIMARY KEY,
    at     BIGINT NOT NULL
);
CREATE INDEX superseded_by_age ON superseded (at);
