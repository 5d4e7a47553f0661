-- +goose Up
-- What an agent must keep of its own installation, as JSON; empty when it
-- cannot replace itself.
ALTER TABLE clusters ADD COLUMN installation TEXT NOT NULL DEFAULT '';

-- Tarballs that the hub's own binary made, such as the agent's manifests. They
-- stay when the binary is replaced, to go back to.
CREATE TABLE packages (
    digest     TEXT   NOT NULL PRIMARY KEY,
    data       TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);

-- One service of the same name on every cluster is asked for as a whole.
CREATE INDEX services_by_name ON services (name);

CREATE TABLE rollouts (
    id               TEXT   NOT NULL PRIMARY KEY,
    subject          TEXT   NOT NULL,
    version          TEXT   NOT NULL,
    payload          TEXT   NOT NULL,
    previous         TEXT   NOT NULL DEFAULT '',
    previous_payload TEXT   NOT NULL DEFAULT '',
    plan             TEXT   NOT NULL,
    phase            TEXT   NOT NULL,
    wave             BIGINT NOT NULL DEFAULT 0,
    wave_at          BIGINT NOT NULL DEFAULT 0,
    accepted         BIGINT NOT NULL DEFAULT 0,
    message          TEXT   NOT NULL DEFAULT '',
    actor            TEXT   NOT NULL DEFAULT '',
    created_at       BIGINT NOT NULL,
    updated_at       BIGINT NOT NULL
);
CREATE INDEX rollouts_by_subject ON rollouts (subject, created_at);

CREATE TABLE rollout_targets (
    rollout_id TEXT   NOT NULL,
    cluster_id TEXT   NOT NULL,
    wave       BIGINT NOT NULL,
    state      TEXT   NOT NULL,
    placed_at  BIGINT NOT NULL DEFAULT 0,
    good_since BIGINT NOT NULL DEFAULT 0,
    message    TEXT   NOT NULL DEFAULT '',
    PRIMARY KEY (rollout_id, cluster_id)
);
