-- +goose Up
-- The secret fields of an object in the table objects, sealed as one text by the part of its kind.
CREATE TABLE object_secrets (
    object_id TEXT NOT NULL PRIMARY KEY,
    sealed    TEXT NOT NULL
);
