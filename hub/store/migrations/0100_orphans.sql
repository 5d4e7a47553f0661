-- +goose Up
-- Services that agents report and the hub does not know are found without the statuses of the
-- fleet.
CREATE INDEX statuses_orphaned ON statuses (cluster_id, service_id) WHERE reason = 'Orphaned';
