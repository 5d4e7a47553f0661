-- +goose Up
-- How far a cluster that is being destroyed is with what it holds at providers: a JSON object,
-- empty for others.
ALTER TABLE clusters ADD COLUMN cleanup TEXT NOT NULL DEFAULT '';
