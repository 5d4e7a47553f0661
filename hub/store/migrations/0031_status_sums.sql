-- +goose Up
-- What is stored of all statuses of a cluster: the hash over them, an edition
-- that no other state ever has, and how many services are how. A cluster without a row, as all are
-- before their first report to this version, has an agent that sends
-- everything again.
CREATE TABLE status_sums (
    cluster_id TEXT   NOT NULL PRIMARY KEY,
    edition    TEXT   NOT NULL,
    hash       TEXT   NOT NULL,
    count      BIGINT NOT NULL,
    counts     TEXT   NOT NULL
);

-- A tombstone that is worked off is found without its cluster's services.
CREATE INDEX services_by_tombstone ON services (tombstone_id) WHERE tombstone_id <> '';
