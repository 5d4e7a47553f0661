-- +goose Up
-- Issuers that people log in through. The client's secret is sealed.
CREATE TABLE login_providers (
    id               TEXT   NOT NULL PRIMARY KEY,
    name             TEXT   NOT NULL UNIQUE,
    title            TEXT   NOT NULL,
    issuer           TEXT   NOT NULL,
    client_id        TEXT   NOT NULL,
    sealed           TEXT   NOT NULL,
    scopes           TEXT   NOT NULL,
    groups_claim     TEXT   NOT NULL,
    groups           TEXT   NOT NULL,
    email_domains    TEXT   NOT NULL,
    allow_unverified BIGINT NOT NULL,
    ca_pem           TEXT   NOT NULL,
    created_at       BIGINT NOT NULL
);

-- Which account at a provider is which user. A provider's subject never
-- changes; an e-mail address may.
CREATE TABLE login_subjects (
    provider_id   TEXT   NOT NULL,
    subject       TEXT   NOT NULL,
    user_id       TEXT   NOT NULL,
    email         TEXT   NOT NULL,
    last_login_at BIGINT NOT NULL,
    PRIMARY KEY (provider_id, subject)
);
CREATE INDEX login_subjects_by_user ON login_subjects (user_id);

-- The way in without a provider: argon2id, and the sealed secret of one-time
-- codes with the last step that was used.
CREATE TABLE login_passwords (
    user_id     TEXT   NOT NULL PRIMARY KEY,
    hash        TEXT   NOT NULL,
    changed_at  BIGINT NOT NULL,
    sealed_totp TEXT   NOT NULL DEFAULT '',
    totp_step   BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE login_passkeys (
    id           TEXT   NOT NULL PRIMARY KEY,
    user_id      TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    credential   TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX login_passkeys_by_user ON login_passkeys (user_id);

-- A session is a token of kind session; this is what else is known of it.
CREATE TABLE login_sessions (
    token_id    TEXT NOT NULL PRIMARY KEY,
    user_id     TEXT NOT NULL,
    method      TEXT NOT NULL,
    provider_id TEXT NOT NULL,
    source      TEXT NOT NULL,
    agent       TEXT NOT NULL,
    sealed      TEXT NOT NULL
);
CREATE INDEX login_sessions_by_user ON login_sessions (user_id);
CREATE INDEX login_sessions_by_provider ON login_sessions (provider_id);

-- Command lines that wait for a person to type their code.
CREATE TABLE login_devices (
    hash       TEXT   NOT NULL PRIMARY KEY,
    user_code  TEXT   NOT NULL UNIQUE,
    client     TEXT   NOT NULL,
    source     TEXT   NOT NULL,
    scopes     TEXT   NOT NULL,
    lifetime   BIGINT NOT NULL,
    user_id    TEXT   NOT NULL DEFAULT '',
    user_token TEXT   NOT NULL DEFAULT '',
    denied     BIGINT NOT NULL DEFAULT 0,
    polled_at  BIGINT NOT NULL DEFAULT 0,
    pause      BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX login_devices_by_source ON login_devices (source);
CREATE INDEX login_devices_by_expiry ON login_devices (expires_at);

-- What may be used once: codes and states that were, until they expire.
CREATE TABLE login_used (
    name       TEXT   NOT NULL PRIMARY KEY,
    expires_at BIGINT NOT NULL
);
CREATE INDEX login_used_by_expiry ON login_used (expires_at);
