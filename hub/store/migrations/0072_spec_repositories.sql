-- +goose Up
-- The repositories that the sources of a template are bound to, a JSON list of ids in
-- the order of the sources. It is empty for the specs of services, whose own rows have
-- them, and for a template of before until it is bound.
ALTER TABLE specs ADD COLUMN repositories TEXT NOT NULL DEFAULT '';
