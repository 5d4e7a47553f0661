-- +goose Up
-- Who should hold a repository's lease, and who keeps a second copy.
ALTER TABLE repository_leases ADD COLUMN preferred   TEXT   NOT NULL DEFAULT '';
ALTER TABLE repository_leases ADD COLUMN follower    TEXT   NOT NULL DEFAULT '';
ALTER TABLE repository_leases ADD COLUMN acquired_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE repository_leases ADD COLUMN moved_at    BIGINT NOT NULL DEFAULT 0;
ALTER TABLE repository_leases ADD COLUMN followed_at BIGINT NOT NULL DEFAULT 0;

-- What a replica says of itself with each heartbeat; leaving is what a person
-- said of it.
ALTER TABLE replicas ADD COLUMN started_at  BIGINT NOT NULL DEFAULT 0;
ALTER TABLE replicas ADD COLUMN leaving     BIGINT NOT NULL DEFAULT 0;
ALTER TABLE replicas ADD COLUMN incarnation TEXT   NOT NULL DEFAULT '';
ALTER TABLE replicas ADD COLUMN sequence    BIGINT NOT NULL DEFAULT 0;
ALTER TABLE replicas ADD COLUMN feed_age    BIGINT NOT NULL DEFAULT 0;
ALTER TABLE replicas ADD COLUMN disk_free   BIGINT NOT NULL DEFAULT 0;
ALTER TABLE replicas ADD COLUMN disk_total  BIGINT NOT NULL DEFAULT 0;
