-- +goose Up
-- A service may follow several sources. places is what it follows and parts
-- what its present revision is made of, both JSON and both empty for a service
-- whose one source lies at its root; the columns of services and revisions that
-- were there before then say it all, and go on saying it of the first part.
ALTER TABLE services ADD COLUMN places TEXT NOT NULL DEFAULT '';
ALTER TABLE services ADD COLUMN parts TEXT NOT NULL DEFAULT '';
ALTER TABLE revisions ADD COLUMN parts TEXT NOT NULL DEFAULT '';

-- The sources in places but the first, to find services by.
CREATE TABLE service_sources (
    service_id    TEXT NOT NULL,
    source_id     TEXT NOT NULL,
    repository_id TEXT NOT NULL,
    PRIMARY KEY (service_id, source_id)
);
CREATE INDEX service_sources_by_source ON service_sources (source_id);
CREATE INDEX service_sources_by_repository ON service_sources (repository_id);

-- The tarballs in a revision's parts but the first, which stay possible to
-- serve as long as the revision is kept.
CREATE TABLE revision_parts (
    service_id    TEXT   NOT NULL,
    number        BIGINT NOT NULL,
    digest        TEXT   NOT NULL,
    repository_id TEXT   NOT NULL,
    PRIMARY KEY (service_id, number, digest)
);
CREATE INDEX revision_parts_by_repository ON revision_parts (repository_id, digest);
