-- +goose Up
CREATE TABLE webhooks (
    id            TEXT   NOT NULL PRIMARY KEY,
    name          TEXT   NOT NULL UNIQUE,
    provider      TEXT   NOT NULL,
    repository_id TEXT   NOT NULL DEFAULT '',
    secret        TEXT   NOT NULL,
    created_at    BIGINT NOT NULL,
    delivered_at  BIGINT NOT NULL DEFAULT 0,
    outcome       TEXT   NOT NULL DEFAULT ''
);
