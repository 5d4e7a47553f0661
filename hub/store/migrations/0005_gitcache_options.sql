-- +goose Up
-- Both are JSON, opaque here; empty text is the zero value.
ALTER TABLE repositories ADD COLUMN options TEXT NOT NULL DEFAULT '';
ALTER TABLE sources ADD COLUMN options TEXT NOT NULL DEFAULT '';
