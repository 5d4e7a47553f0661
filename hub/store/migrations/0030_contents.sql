-- +goose Up
-- What sources gave at one time, one row however many services have it: a
-- commit that moves ten thousand services writes it once. parts is JSON, empty
-- where one source lies at the root, which the other columns say it all of.
CREATE TABLE contents (
    id              TEXT   NOT NULL PRIMARY KEY,
    repository_id   TEXT   NOT NULL,
    source_revision TEXT   NOT NULL,
    digest          TEXT   NOT NULL,
    entry           TEXT   NOT NULL,
    size            BIGINT NOT NULL,
    message         TEXT   NOT NULL,
    author          TEXT   NOT NULL,
    committed_at    BIGINT NOT NULL,
    parts           TEXT   NOT NULL,
    created_at      BIGINT NOT NULL
);
CREATE INDEX contents_by_digest ON contents (digest);
CREATE INDEX contents_by_repository ON contents (repository_id);

-- The tarballs in parts but the first.
CREATE TABLE content_parts (
    content_id    TEXT NOT NULL REFERENCES contents (id) ON DELETE CASCADE,
    digest        TEXT NOT NULL,
    repository_id TEXT NOT NULL,
    PRIMARY KEY (content_id, digest)
);
CREATE INDEX content_parts_by_digest ON content_parts (digest);
CREATE INDEX content_parts_by_repository ON content_parts (repository_id);

-- What is declared, each version once, with the names of the documents that its
-- values are in (secrets). The owner is a service.
CREATE TABLE specs (
    owner_id TEXT   NOT NULL,
    version  BIGINT NOT NULL,
    spec     TEXT   NOT NULL,
    secrets  TEXT   NOT NULL,
    PRIMARY KEY (owner_id, version)
);

-- The documents that a spec names.
CREATE TABLE spec_documents (
    document_id TEXT   NOT NULL,
    owner_id    TEXT   NOT NULL,
    version     BIGINT NOT NULL,
    PRIMARY KEY (document_id, owner_id, version),
    FOREIGN KEY (owner_id, version) REFERENCES specs (owner_id, version) ON DELETE CASCADE
);
CREATE INDEX spec_documents_by_owner ON spec_documents (owner_id, version);

INSERT INTO contents (id, repository_id, source_revision, digest, entry, size, message, author, committed_at, parts, created_at)
    SELECT service_id || ':' || number, repository_id, source_revision, digest, entry, size, message, author, committed_at, parts, created_at FROM revisions;
INSERT INTO content_parts (content_id, digest, repository_id)
    SELECT service_id || ':' || number, digest, repository_id FROM revision_parts p
    WHERE EXISTS (SELECT 1 FROM revisions r WHERE r.service_id = p.service_id AND r.number = p.number);
INSERT INTO specs (owner_id, version, spec, secrets) SELECT service_id, number, spec, secrets FROM revisions;
INSERT INTO specs (owner_id, version, spec, secrets) SELECT id, revision + 1, spec, secrets FROM services;
INSERT INTO spec_documents (document_id, owner_id, version)
    SELECT substr(secrets, 9, 30), owner_id, version FROM specs WHERE secrets LIKE '{"own":"%' AND secrets NOT LIKE '{"own":""%';
INSERT INTO spec_documents (document_id, owner_id, version)
    SELECT d.id, v.owner_id, v.version FROM specs v JOIN config_documents d ON v.secrets LIKE '%' || d.id || '%'
    WHERE d.shared = 1 AND v.secrets <> '' AND substr(v.secrets, 9, 30) <> d.id;

-- A revision is narrow: it names its content and its spec.
CREATE TABLE narrow (
    service_id   TEXT   NOT NULL,
    number       BIGINT NOT NULL,
    content_id   TEXT   NOT NULL REFERENCES contents (id),
    spec_version BIGINT NOT NULL,
    spec_digest  TEXT   NOT NULL,
    cause        TEXT   NOT NULL,
    actor        TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (service_id, number)
);
INSERT INTO narrow (service_id, number, content_id, spec_version, spec_digest, cause, actor, created_at)
    SELECT service_id, number, service_id || ':' || number, number, spec_digest, cause,
        CASE WHEN cause = 'commit' THEN '' ELSE actor END, created_at FROM revisions;
DROP TABLE revisions;
DROP TABLE revision_parts;
ALTER TABLE narrow RENAME TO revisions;
CREATE INDEX revisions_by_content ON revisions (content_id);

-- A service names its spec, and the content of its present revision. Who
-- declared it last stands with the revision that is made of it.
ALTER TABLE services ADD COLUMN content_id TEXT NOT NULL DEFAULT '';
ALTER TABLE services ADD COLUMN spec_version BIGINT NOT NULL DEFAULT 0;
ALTER TABLE services ADD COLUMN declared_by TEXT NOT NULL DEFAULT '';
UPDATE services SET spec_version = revision + 1,
    content_id = COALESCE((SELECT r.content_id FROM revisions r WHERE r.service_id = services.id AND r.number = services.revision), '');
DROP INDEX services_by_document;
ALTER TABLE services DROP COLUMN spec;
ALTER TABLE services DROP COLUMN secrets;
ALTER TABLE services DROP COLUMN content_repository;
ALTER TABLE services DROP COLUMN source_revision;
ALTER TABLE services DROP COLUMN digest;
ALTER TABLE services DROP COLUMN entry;
ALTER TABLE services DROP COLUMN size;
ALTER TABLE services DROP COLUMN message;
ALTER TABLE services DROP COLUMN author;
ALTER TABLE services DROP COLUMN committed_at;
ALTER TABLE services DROP COLUMN parts;

-- The services of a source are looked at in order of id.
DROP INDEX services_by_source;
CREATE INDEX services_by_source ON services (source_id, id);
DROP INDEX service_sources_by_source;
CREATE INDEX service_sources_by_source ON service_sources (source_id, service_id);

-- Sources whose heads moved and whose services were not told yet.
CREATE TABLE moved_sources (
    source_id TEXT   NOT NULL PRIMARY KEY,
    at        BIGINT NOT NULL
);
INSERT INTO moved_sources (source_id, at) SELECT source_id, updated_at FROM heads;

-- The repositories of the parts of a recipe, by which those are found that need
-- one to be made again.
CREATE TABLE artifact_parts (
    repository_id TEXT NOT NULL,
    digest        TEXT NOT NULL REFERENCES artifacts (digest) ON DELETE CASCADE,
    PRIMARY KEY (repository_id, digest)
);
CREATE INDEX artifact_parts_by_digest ON artifact_parts (digest);
INSERT INTO artifact_parts (repository_id, digest)
    SELECT r.id, a.digest FROM artifacts a JOIN repositories r ON a.recipe LIKE '%"repository":"' || r.id || '"%'
    WHERE a.recipe LIKE '%"parts"%' AND a.repository_id <> r.id;
CREATE INDEX heads_by_digest ON heads (digest);
