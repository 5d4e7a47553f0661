-- +goose Up
-- Who manages each declared object; empty is nobody, as with all objects from
-- before. Nothing looks objects up by it except lists, within their own order.
ALTER TABLE projects ADD COLUMN managed_by_tool TEXT NOT NULL DEFAULT '';
ALTER TABLE projects ADD COLUMN managed_by_id TEXT NOT NULL DEFAULT '';
ALTER TABLE clusters ADD COLUMN managed_by_tool TEXT NOT NULL DEFAULT '';
ALTER TABLE clusters ADD COLUMN managed_by_id TEXT NOT NULL DEFAULT '';
ALTER TABLE repositories ADD COLUMN managed_by_tool TEXT NOT NULL DEFAULT '';
ALTER TABLE repositories ADD COLUMN managed_by_id TEXT NOT NULL DEFAULT '';
ALTER TABLE services ADD COLUMN managed_by_tool TEXT NOT NULL DEFAULT '';
ALTER TABLE services ADD COLUMN managed_by_id TEXT NOT NULL DEFAULT '';
ALTER TABLE webhooks ADD COLUMN managed_by_tool TEXT NOT NULL DEFAULT '';
ALTER TABLE webhooks ADD COLUMN managed_by_id TEXT NOT NULL DEFAULT '';
ALTER TABLE bags ADD COLUMN managed_by_tool TEXT NOT NULL DEFAULT '';
ALTER TABLE bags ADD COLUMN managed_by_id TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN managed_by_tool TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN managed_by_id TEXT NOT NULL DEFAULT '';
ALTER TABLE user_groups ADD COLUMN managed_by_tool TEXT NOT NULL DEFAULT '';
ALTER TABLE user_groups ADD COLUMN managed_by_id TEXT NOT NULL DEFAULT '';
ALTER TABLE group_members ADD COLUMN managed_by_tool TEXT NOT NULL DEFAULT '';
ALTER TABLE group_members ADD COLUMN managed_by_id TEXT NOT NULL DEFAULT '';
ALTER TABLE bindings ADD COLUMN managed_by_tool TEXT NOT NULL DEFAULT '';
ALTER TABLE bindings ADD COLUMN managed_by_id TEXT NOT NULL DEFAULT '';
ALTER TABLE login_providers ADD COLUMN managed_by_tool TEXT NOT NULL DEFAULT '';
ALTER TABLE login_providers ADD COLUMN managed_by_id TEXT NOT NULL DEFAULT '';
ALTER TABLE trusts ADD COLUMN managed_by_tool TEXT NOT NULL DEFAULT '';
ALTER TABLE trusts ADD COLUMN managed_by_id TEXT NOT NULL DEFAULT '';
ALTER TABLE rollouts ADD COLUMN managed_by_tool TEXT NOT NULL DEFAULT '';
ALTER TABLE rollouts ADD COLUMN managed_by_id TEXT NOT NULL DEFAULT '';
