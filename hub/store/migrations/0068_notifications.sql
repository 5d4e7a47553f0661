-- +goose Up
-- What made the event happen: the revision of a service's source. Empty is unknown.
ALTER TABLE events ADD COLUMN cause TEXT NOT NULL DEFAULT '';

-- target is sealed: the URL and the key that signs. project_id is empty for the hub as
-- a whole. The counters are of messages.
CREATE TABLE notification_sinks (
    id              TEXT   NOT NULL PRIMARY KEY,
    name            TEXT   NOT NULL UNIQUE,
    project_id      TEXT   NOT NULL,
    type            TEXT   NOT NULL,
    host            TEXT   NOT NULL,
    target          TEXT   NOT NULL,
    signed          BIGINT NOT NULL,
    priority        TEXT   NOT NULL,
    users           TEXT   NOT NULL,
    user_groups     TEXT   NOT NULL,
    managed_by_tool TEXT   NOT NULL,
    managed_by_id   TEXT   NOT NULL,
    declared_by     TEXT   NOT NULL,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    sent            BIGINT NOT NULL,
    sent_at         BIGINT NOT NULL,
    failed          BIGINT NOT NULL,
    dropped         BIGINT NOT NULL,
    error           TEXT   NOT NULL,
    error_at        BIGINT NOT NULL
);

CREATE TABLE notification_routers (
    id              TEXT   NOT NULL PRIMARY KEY,
    name            TEXT   NOT NULL UNIQUE,
    project_id      TEXT   NOT NULL,
    events          TEXT   NOT NULL,
    filters         TEXT   NOT NULL,
    sinks           TEXT   NOT NULL,
    managed_by_tool TEXT   NOT NULL,
    managed_by_id   TEXT   NOT NULL,
    declared_by     TEXT   NOT NULL,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL
);

-- topic is what messages are grouped by. state is open while events are added, trying
-- after the first attempt, then sent or failed.
CREATE TABLE notification_messages (
    id         TEXT   NOT NULL PRIMARY KEY,
    sink_id    TEXT   NOT NULL,
    topic      TEXT   NOT NULL,
    body       TEXT   NOT NULL,
    state      TEXT   NOT NULL,
    due_at     BIGINT NOT NULL,
    attempts   BIGINT NOT NULL,
    error      TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    sent_at    BIGINT NOT NULL
);
CREATE INDEX notification_messages_due ON notification_messages (sink_id, due_at) WHERE state IN ('open', 'trying');
CREATE INDEX notification_messages_topic ON notification_messages (sink_id, topic, created_at);
CREATE INDEX notification_messages_sent ON notification_messages (sink_id, sent_at) WHERE state = 'sent';
CREATE INDEX notification_messages_old ON notification_messages (created_at);

-- The last event that was looked at. There is one row.
CREATE TABLE notification_cursor (
    id    BIGINT NOT NULL PRIMARY KEY,
    event BIGINT NOT NULL
);
INSERT INTO notification_cursor (id, event) SELECT 1, COALESCE(max(id), 0) FROM events;

-- Up to when a person has read their notifications.
CREATE TABLE notification_reads (
    user_id TEXT   NOT NULL PRIMARY KEY,
    up_to   BIGINT NOT NULL
);
