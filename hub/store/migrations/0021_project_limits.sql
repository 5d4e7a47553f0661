-- +goose Up
-- What a project's services may touch: as it is declared, and with the windows
-- of the hub, as services are given it. A service whose own column differs is
-- behind its project.
ALTER TABLE projects ADD COLUMN limits TEXT NOT NULL DEFAULT '';
ALTER TABLE projects ADD COLUMN delivered TEXT NOT NULL DEFAULT '';
ALTER TABLE services ADD COLUMN limits TEXT NOT NULL DEFAULT '';
