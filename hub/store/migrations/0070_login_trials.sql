-- +goose Up
-- A login provider that a user tries before it is saved, one for each user. sealed is
-- the provider with its client secret.
CREATE TABLE login_trials (
    user_id    TEXT   NOT NULL PRIMARY KEY,
    id         TEXT   NOT NULL,
    sealed     TEXT   NOT NULL,
    expires_at BIGINT NOT NULL
);
