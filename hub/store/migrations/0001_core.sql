-- +goose Up
CREATE TABLE settings (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE incarnations (
    id                   TEXT   NOT NULL PRIMARY KEY,
    started_at           BIGINT NOT NULL,
    parent_id            TEXT   NOT NULL DEFAULT '',
    parent_kept_sequence BIGINT NOT NULL DEFAULT 0,
    parent_kept_at       BIGINT NOT NULL DEFAULT 0,
    confirmed            BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE outbox (
    incarnation  TEXT   NOT NULL,
    sequence     BIGINT NOT NULL,
    committed_at BIGINT NOT NULL,
    changes      TEXT   NOT NULL,
    PRIMARY KEY (incarnation, sequence)
);

CREATE TABLE events (
    id      BIGINT NOT NULL PRIMARY KEY,
    at      BIGINT NOT NULL,
    kind    TEXT   NOT NULL,
    object  TEXT   NOT NULL,
    actor   TEXT   NOT NULL,
    message TEXT   NOT NULL,
    cluster TEXT   NOT NULL DEFAULT '',
    service TEXT   NOT NULL DEFAULT ''
);
CREATE INDEX events_by_cluster ON events (cluster, id);
CREATE INDEX events_by_service ON events (service, id);

CREATE TABLE leases (
    name       TEXT   NOT NULL PRIMARY KEY,
    holder     TEXT   NOT NULL,
    epoch      BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE TABLE replicas (
    name           TEXT   NOT NULL PRIMARY KEY,
    url            TEXT   NOT NULL,
    version        TEXT   NOT NULL,
    seen_at        BIGINT NOT NULL,
    draining_until BIGINT NOT NULL DEFAULT 0
);
