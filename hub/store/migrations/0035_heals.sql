-- +goose Up
-- The last heal of each cluster that became an event, by the boot of its agent
-- that counts them.
CREATE TABLE heals_taken (
    cluster_id TEXT   NOT NULL PRIMARY KEY,
    boot_id    TEXT   NOT NULL,
    number     BIGINT NOT NULL
);
