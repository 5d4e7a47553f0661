-- +goose Up
CREATE TABLE users (
    id         TEXT   NOT NULL PRIMARY KEY,
    kind       TEXT   NOT NULL,
    name       TEXT   NOT NULL UNIQUE,
    admin      BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

-- Bearers are kept as hex SHA-256 alone.
CREATE TABLE tokens (
    id           TEXT   NOT NULL PRIMARY KEY,
    kind         TEXT   NOT NULL,
    hash         TEXT   NOT NULL UNIQUE,
    name         TEXT   NOT NULL,
    owner_id     TEXT   NOT NULL,
    owner_name   TEXT   NOT NULL,
    scopes       TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL DEFAULT 0,
    cluster_id   TEXT   NOT NULL DEFAULT '',
    cluster_name TEXT   NOT NULL DEFAULT '',
    bootstrap    TEXT   NOT NULL DEFAULT ''
);
CREATE INDEX tokens_by_owner ON tokens (owner_id);
CREATE INDEX tokens_by_cluster ON tokens (cluster_id);
CREATE INDEX tokens_by_expiry ON tokens (expires_at);

CREATE TABLE agent_keys (
    cluster_id    TEXT   NOT NULL PRIMARY KEY,
    cluster_name  TEXT   NOT NULL,
    public_key    TEXT   NOT NULL UNIQUE,
    cluster_uid   TEXT   NOT NULL,
    token_id      TEXT   NOT NULL,
    boot_id       TEXT   NOT NULL,
    past_boots    TEXT   NOT NULL,
    registered_at BIGINT NOT NULL,
    conflict_at   BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE renew_nonces (
    nonce   TEXT   NOT NULL PRIMARY KEY,
    used_at BIGINT NOT NULL
);
CREATE INDEX renew_nonces_by_time ON renew_nonces (used_at);

CREATE TABLE signing_keys (
    id         TEXT   NOT NULL PRIMARY KEY,
    public_key TEXT   NOT NULL,
    sealed     TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    signs_from BIGINT NOT NULL,
    retired_at BIGINT NOT NULL DEFAULT 0
);
