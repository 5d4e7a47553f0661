-- +goose Up
-- Values of services, contexts and outputs are documents, which lie in a
-- backend. Rows name them by id and hold no value.
CREATE TABLE config_documents (
    id           TEXT   NOT NULL PRIMARY KEY,
    backend      TEXT   NOT NULL,
    parts        BIGINT NOT NULL,
    shared       BIGINT NOT NULL,
    ready        BIGINT NOT NULL,
    copied_to    TEXT   NOT NULL DEFAULT '',
    copied_parts BIGINT NOT NULL DEFAULT 0,
    stale_in     TEXT   NOT NULL DEFAULT '',
    stale_parts  BIGINT NOT NULL DEFAULT 0,
    created_at   BIGINT NOT NULL
);
CREATE INDEX config_documents_by_backend ON config_documents (backend, id);
CREATE INDEX config_documents_by_stale ON config_documents (stale_in, id);
CREATE INDEX config_documents_by_age ON config_documents (created_at);

-- The built-in backend, sealed by the hub's key.
CREATE TABLE config_values (
    path TEXT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL
);

-- Contexts and outputs.
CREATE TABLE bags (
    kind       TEXT   NOT NULL,
    name       TEXT   NOT NULL,
    project_id TEXT   NOT NULL DEFAULT '',
    document   TEXT   NOT NULL,
    version    BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    updated_by TEXT   NOT NULL,
    PRIMARY KEY (kind, name)
);

-- What services take from elsewhere.
CREATE TABLE config_uses (
    service_id TEXT NOT NULL,
    kind       TEXT NOT NULL,
    name       TEXT NOT NULL,
    PRIMARY KEY (service_id, kind, name)
);
CREATE INDEX config_uses_by_name ON config_uses (kind, name);

-- The columns of secrets begin with {"own":"<id of a document>".
CREATE INDEX services_by_document ON services (substr(secrets, 9, 30));
CREATE INDEX revisions_by_document ON revisions (substr(secrets, 9, 30));
