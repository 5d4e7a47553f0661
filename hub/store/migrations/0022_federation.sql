-- +goose Up
-- Whose tokens are exchanged for those of a service account.
CREATE TABLE trusts (
    id           TEXT   NOT NULL PRIMARY KEY,
    name         TEXT   NOT NULL UNIQUE,
    issuer       TEXT   NOT NULL,
    audience     TEXT   NOT NULL,
    claims       TEXT   NOT NULL,
    account_id   TEXT   NOT NULL,
    scopes       TEXT   NOT NULL,
    lifetime     BIGINT NOT NULL,
    ca_pem       TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    created_by   TEXT   NOT NULL,
    last_used_at BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX trusts_by_issuer ON trusts (issuer);
