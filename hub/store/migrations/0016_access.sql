-- +goose Up
-- Groups of users and service accounts. A membership has a source, so that what
-- a person set by hand and what a login provider said end apart: empty is by
-- hand.
CREATE TABLE user_groups (
    id          TEXT   NOT NULL PRIMARY KEY,
    name        TEXT   NOT NULL UNIQUE,
    description TEXT   NOT NULL DEFAULT '',
    created_at  BIGINT NOT NULL
);
CREATE TABLE group_members (
    group_id TEXT NOT NULL,
    user_id  TEXT NOT NULL,
    source   TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (group_id, user_id, source)
);
CREATE INDEX group_members_by_user ON group_members (user_id);

-- One action for one subject at one place. The subject is a user, a service
-- account or a group; object_id is empty for the hub as a whole.
CREATE TABLE bindings (
    id           TEXT   NOT NULL PRIMARY KEY,
    subject_kind TEXT   NOT NULL,
    subject_id   TEXT   NOT NULL,
    action       TEXT   NOT NULL,
    level        TEXT   NOT NULL,
    object_id    TEXT   NOT NULL DEFAULT '',
    created_at   BIGINT NOT NULL,
    created_by   TEXT   NOT NULL DEFAULT '',
    UNIQUE (subject_id, action, level, object_id)
);
CREATE INDEX bindings_by_object ON bindings (level, object_id);
