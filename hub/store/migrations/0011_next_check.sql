-- +goose Up
ALTER TABLE repositories ADD COLUMN next_check_at BIGINT NOT NULL DEFAULT 0;
