-- +goose Up
-- plan says how a changed template rolls out; empty is everywhere at once.
-- held_version is the template that targets keep until a rollout reaches them, and
-- held_context the context that it was made with; 0 is none.
ALTER TABLE global_services ADD COLUMN plan TEXT NOT NULL DEFAULT '';
ALTER TABLE global_services ADD COLUMN held_version BIGINT NOT NULL DEFAULT 0;
ALTER TABLE global_services ADD COLUMN held_context TEXT NOT NULL DEFAULT '';
-- The rollouts that the hub works on.
CREATE INDEX global_services_held ON global_services (id) WHERE held_version > 0;
