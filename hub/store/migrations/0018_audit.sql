-- +goose Up
-- The chain of what was done; record is JSON as it was hashed, the columns
-- beside it are what rows are found by.
CREATE TABLE audit (
    seq        BIGINT NOT NULL PRIMARY KEY,
    at         BIGINT NOT NULL,
    actor      TEXT   NOT NULL,
    cluster_id TEXT   NOT NULL,
    action     TEXT   NOT NULL,
    kind       TEXT   NOT NULL,
    name       TEXT   NOT NULL,
    result     TEXT   NOT NULL,
    record     TEXT   NOT NULL,
    prev       TEXT   NOT NULL,
    hash       TEXT   NOT NULL
);
CREATE INDEX audit_by_time ON audit (at);
CREATE INDEX audit_by_actor ON audit (actor, seq);
CREATE INDEX audit_by_cluster ON audit (cluster_id, seq);

-- One row: the end of the chain. Whoever adds rows holds it.
CREATE TABLE audit_head (
    id   BIGINT NOT NULL PRIMARY KEY,
    seq  BIGINT NOT NULL,
    hash TEXT   NOT NULL
);
INSERT INTO audit_head (id, seq, hash) VALUES (1, 0, '');

CREATE TABLE audit_checkpoints (
    seq       BIGINT NOT NULL,
    kind      TEXT   NOT NULL,
    hash      TEXT   NOT NULL,
    at        BIGINT NOT NULL,
    key_id    TEXT   NOT NULL,
    signature TEXT   NOT NULL,
    PRIMARY KEY (seq, kind)
);

CREATE TABLE audit_cursors (
    sink TEXT   NOT NULL PRIMARY KEY,
    seq  BIGINT NOT NULL
);
