-- +goose Up
-- Why somebody went back to a revision.
ALTER TABLE revisions ADD COLUMN reason TEXT NOT NULL DEFAULT '';

-- One action on many services, as the owner of a token. selection is in words for
-- people; the counters are of targets.
CREATE TABLE operations (
    id         TEXT   NOT NULL PRIMARY KEY,
    action     TEXT   NOT NULL,
    state      TEXT   NOT NULL,
    actor      TEXT   NOT NULL,
    actor_id   TEXT   NOT NULL,
    token_id   TEXT   NOT NULL,
    reason     TEXT   NOT NULL,
    selection  TEXT   NOT NULL,
    total      BIGINT NOT NULL,
    done       BIGINT NOT NULL,
    failed     BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    ended_at   BIGINT NOT NULL
);
CREATE INDEX operations_newest ON operations (created_at, id);
CREATE INDEX operations_of_actor ON operations (actor_id, created_at, id);
CREATE INDEX operations_running ON operations (created_at, id) WHERE state = 'Running';
CREATE INDEX operations_ended ON operations (ended_at) WHERE ended_at > 0;

-- position orders the targets of an operation; rank orders lists of them: 0 is
-- failed, 1 is everything else.
CREATE TABLE operation_targets (
    operation_id TEXT   NOT NULL,
    position     BIGINT NOT NULL,
    service_id   TEXT   NOT NULL,
    cluster      TEXT   NOT NULL,
    service      TEXT   NOT NULL,
    state        TEXT   NOT NULL,
    rank         BIGINT NOT NULL,
    message      TEXT   NOT NULL,
    at           BIGINT NOT NULL,
    PRIMARY KEY (operation_id, position)
);
CREATE INDEX operation_targets_listed ON operation_targets (operation_id, rank, position);
CREATE INDEX operation_targets_waiting ON operation_targets (operation_id, position) WHERE state = 'Waiting';
