-- +goose Up
-- The project of an object that is in one; empty is the hub as a whole.
ALTER TABLE objects ADD COLUMN project_id TEXT NOT NULL DEFAULT '';
CREATE INDEX objects_of_project ON objects (project_id, kind, name) WHERE project_id <> '';

-- The clients of applications, which are objects: the id that the identity provider knows one
-- by, and the service that brings the Secret to its cluster, empty for none. wanted counts what
-- is to be delivered, delivered is the last one that was, and failure is why a later one was not.
CREATE TABLE application_clients (
    application_id TEXT   NOT NULL PRIMARY KEY,
    client_id      TEXT   NOT NULL,
    service_id     TEXT   NOT NULL,
    wanted         BIGINT NOT NULL,
    delivered      BIGINT NOT NULL,
    failure        TEXT   NOT NULL
);
CREATE UNIQUE INDEX application_clients_named ON application_clients (client_id);
CREATE INDEX application_clients_undelivered ON application_clients (application_id) WHERE wanted <> delivered;

-- The secrets of clients: one, or two while the former one ends. hash is keyed; sealed is the
-- text that is delivered, empty for a former one. former_at is when a newer one came, 0 for the
-- present one; overlap is how long a former one is valid once that is known, and ends_at its end.
CREATE TABLE application_secrets (
    id             TEXT   NOT NULL PRIMARY KEY,
    application_id TEXT   NOT NULL,
    hash           TEXT   NOT NULL,
    sealed         TEXT   NOT NULL,
    created_at     BIGINT NOT NULL,
    former_at      BIGINT NOT NULL,
    overlap        BIGINT NOT NULL,
    ends_at        BIGINT NOT NULL
);
CREATE INDEX application_secrets_of ON application_secrets (application_id);
CREATE INDEX application_secrets_former ON application_secrets (id) WHERE former_at <> 0;
