-- +goose Up
-- A template makes a service of one name on every cluster. An index of names
-- alone lets a database that has not counted its rows yet go through all of them
-- to find the one of a cluster.
DROP INDEX services_by_name;
CREATE INDEX services_by_name ON services (name, cluster_id);

