-- +goose Up
-- When a person logged in to an application last, 0 for never; and those of an application
-- in that order.
ALTER TABLE oidc_consents ADD COLUMN last_at BIGINT NOT NULL DEFAULT 0;
DROP INDEX oidc_consents_by_client;
CREATE INDEX oidc_consents_by_client ON oidc_consents (client_id, last_at);
