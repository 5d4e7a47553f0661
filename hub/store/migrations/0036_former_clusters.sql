-- +goose Up
-- Registrations that have ended, by the uid of the kube-system namespace of the
-- cluster that they were of: what they left there may be adopted.
CREATE TABLE former_clusters (
    cluster_id  TEXT   NOT NULL PRIMARY KEY,
    cluster_uid TEXT   NOT NULL,
    ended_at    BIGINT NOT NULL
);
CREATE INDEX former_clusters_by_uid ON former_clusters (cluster_uid, ended_at);
CREATE INDEX clusters_by_uid ON clusters (cluster_uid);
