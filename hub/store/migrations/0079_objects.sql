-- +goose Up
-- Declared objects of the kinds without a table of their own. spec is JSON: the settings
-- without what names other objects, which is in object_references.
CREATE TABLE objects (
    id              TEXT   NOT NULL PRIMARY KEY,
    kind            TEXT   NOT NULL,
    name            TEXT   NOT NULL,
    spec            TEXT   NOT NULL,
    revision        BIGINT NOT NULL,
    managed_by_tool TEXT   NOT NULL,
    managed_by_id   TEXT   NOT NULL,
    declared_by     TEXT   NOT NULL,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL
);
CREATE UNIQUE INDEX objects_named ON objects (kind, name);

-- What objects refer to: the id that a name found when it was written, and that name.
CREATE TABLE object_references (
    object_id   TEXT   NOT NULL,
    field       TEXT   NOT NULL,
    position    BIGINT NOT NULL,
    target_kind TEXT   NOT NULL,
    target_id   TEXT   NOT NULL,
    name        TEXT   NOT NULL,
    PRIMARY KEY (object_id, field, position)
);
CREATE INDEX object_references_target ON object_references (target_id);
