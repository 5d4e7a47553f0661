-- +goose Up
-- Two parts of objects have managers of their own, beside that of the row: the limits
-- of a project, and whether a user is an administrator. The operator and axle apply
-- have not written limits so far, so those of their projects are nobody's.
ALTER TABLE projects ADD COLUMN limits_managed_by_tool TEXT NOT NULL DEFAULT '';
ALTER TABLE projects ADD COLUMN limits_managed_by_id TEXT NOT NULL DEFAULT '';
UPDATE projects SET limits_managed_by_tool = managed_by_tool, limits_managed_by_id = managed_by_id
    WHERE limits <> '' AND managed_by_tool NOT IN ('operator', 'apply');
ALTER TABLE users ADD COLUMN admin_managed_by_tool TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN admin_managed_by_id TEXT NOT NULL DEFAULT '';
