-- +goose Up
-- When a tarball of the hub's own was stored or found in use last: those of a day ago are looked
-- at, and go when nothing names them.
CREATE INDEX packages_by_use ON packages (created_at);
