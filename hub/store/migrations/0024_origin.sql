-- +goose Up
-- The token that one was made with and whose end is its end too, and who made
-- it. When the person of a session last showed who they are.
ALTER TABLE tokens ADD COLUMN ends_with TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN origin TEXT NOT NULL DEFAULT '';
CREATE INDEX tokens_by_maker ON tokens (ends_with) WHERE ends_with <> '';
ALTER TABLE login_sessions ADD COLUMN proved_at BIGINT NOT NULL DEFAULT 0;
