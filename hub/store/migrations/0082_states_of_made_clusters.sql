-- +goose Up
-- The state of a cluster that was made from a template, as its management cluster last
-- reported it: a JSON object, empty for others.
ALTER TABLE clusters ADD COLUMN made_state TEXT NOT NULL DEFAULT '';
