-- +goose Up
-- Services name repositories by URL, without regard to case and to slashes at
-- the end.
CREATE INDEX repositories_by_url ON repositories (lower(rtrim(trim(url), '/')));
CREATE INDEX repositories_by_exact_url ON repositories (url, name);
