-- +goose Up
-- Applications that have yet to learn that a session ended.
CREATE TABLE oidc_logouts (
    id         TEXT   NOT NULL PRIMARY KEY,
    client_id  TEXT   NOT NULL,
    user_id    TEXT   NOT NULL,
    session_id TEXT   NOT NULL,
    attempts   BIGINT NOT NULL,
    due_at     BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX oidc_logouts_by_due ON oidc_logouts (due_at, id);

-- Devices that wait for a person to type their code. grant_id is set once somebody allowed it.
CREATE TABLE oidc_devices (
    hash       TEXT   NOT NULL PRIMARY KEY,
    user_code  TEXT   NOT NULL UNIQUE,
    client_id  TEXT   NOT NULL,
    scopes     TEXT   NOT NULL,
    grant_id   TEXT   NOT NULL DEFAULT '',
    denied     BIGINT NOT NULL DEFAULT 0,
    polled_at  BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX oidc_devices_by_client ON oidc_devices (client_id, created_at);
CREATE INDEX oidc_devices_by_expiry ON oidc_devices (expires_at);
