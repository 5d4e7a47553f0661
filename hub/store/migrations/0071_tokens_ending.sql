-- +goose Up
-- The home page announces API tokens that end soon. Those of agents and sessions, which
-- end much more often, are not in this index.
CREATE INDEX tokens_ending ON tokens (expires_at) WHERE kind = 'api';
