-- +goose Up
-- A project that changed has services to tell until this is 0 again.
ALTER TABLE projects ADD COLUMN unsettled BIGINT NOT NULL DEFAULT 1;
CREATE INDEX projects_unsettled ON projects (id) WHERE unsettled = 1;
DROP INDEX services_by_project;
CREATE INDEX services_by_project ON services (project_id, id);
