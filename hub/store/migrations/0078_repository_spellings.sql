-- +goose Up
-- A repository's URL as it was written, and the normal form by which it is found. Both
-- belong to the URL in normal_of: a row whose URL another version of the hub wrote has
-- neither until this version adds them.
ALTER TABLE repositories ADD COLUMN written_url TEXT NOT NULL DEFAULT '';
ALTER TABLE repositories ADD COLUMN normal_url TEXT NOT NULL DEFAULT '';
ALTER TABLE repositories ADD COLUMN normal_of TEXT NOT NULL DEFAULT '';
CREATE INDEX repositories_by_normal_url ON repositories (normal_url);
CREATE INDEX repositories_without_normal_url ON repositories (id) WHERE normal_of <> url;
