-- +goose Up
-- Two accounts are not created whose addresses differ in the case of letters only.
CREATE INDEX users_by_address ON users (lower(name));
