-- +goose Up
-- The managed namespace that a global service belongs to; empty is none.
ALTER TABLE global_services ADD COLUMN namespace TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX global_services_by_namespace ON global_services (namespace, name) WHERE namespace <> '';
