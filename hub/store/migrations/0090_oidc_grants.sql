-- +goose Up
-- The keys that sign ID tokens for applications. sealed is the private half.
CREATE TABLE oidc_keys (
    id         TEXT   NOT NULL PRIMARY KEY,
    algorithm  TEXT   NOT NULL,
    public     TEXT   NOT NULL,
    sealed     TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    signs_from BIGINT NOT NULL,
    ends_at    BIGINT NOT NULL DEFAULT 0
);

-- What somebody allowed an application: one login there, with all tokens of it.
-- token_id is the session of the hub that it was in, session_id that which the
-- application knows it by.
CREATE TABLE oidc_grants (
    id         TEXT   NOT NULL PRIMARY KEY,
    client_id  TEXT   NOT NULL,
    user_id    TEXT   NOT NULL,
    session_id TEXT   NOT NULL,
    token_id   TEXT   NOT NULL,
    scopes     TEXT   NOT NULL,
    nonce      TEXT   NOT NULL,
    redirect   TEXT   NOT NULL,
    challenge  TEXT   NOT NULL,
    auth_at    BIGINT NOT NULL,
    methods    TEXT   NOT NULL,
    class      TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    ends_at    BIGINT NOT NULL
);
CREATE INDEX oidc_grants_by_user ON oidc_grants (user_id, client_id);
CREATE INDEX oidc_grants_by_client ON oidc_grants (client_id, user_id);
CREATE INDEX oidc_grants_by_session ON oidc_grants (session_id);
CREATE INDEX oidc_grants_by_token ON oidc_grants (token_id);
CREATE INDEX oidc_grants_by_end ON oidc_grants (ends_at);

-- Codes, access tokens and refresh tokens of grants, by hash.
CREATE TABLE oidc_secrets (
    hash       TEXT   NOT NULL PRIMARY KEY,
    kind       TEXT   NOT NULL,
    grant_id   TEXT   NOT NULL,
    scopes     TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at    BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX oidc_secrets_by_grant ON oidc_secrets (grant_id, kind);
CREATE INDEX oidc_secrets_by_expiry ON oidc_secrets (expires_at);

-- What a person agreed to give an application.
CREATE TABLE oidc_consents (
    user_id    TEXT   NOT NULL,
    client_id  TEXT   NOT NULL,
    scopes     TEXT   NOT NULL,
    given_at   BIGINT NOT NULL,
    PRIMARY KEY (user_id, client_id)
);
CREATE INDEX oidc_consents_by_client ON oidc_consents (client_id);
