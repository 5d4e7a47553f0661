package store

import (
	"context"

	"github.com/axle-cd/axle/hub/identity"
)

// ServicesByRepository counts the services within reach by the repository that
// they follow, for all repositories or the given one. Repositories without
// services are left out.
func (s *Store) ServicesByRepository(ctx context.Context, repositoryID string, r identity.Reach) (map[string]int, error) {
	which, args := "repository_id <> ''", []any(nil)
	if repositoryID != "" {
		which, args = "repository_id = $1", []any{repositoryID}
	}
	uses := "SELECT id, repository_id FROM services WHERE " + which + " UNION SELECT service_id, repository_id FROM service_sources WHERE " + which
	if r.All() {
		return s.counted(ctx, "SELECT repository_id, COUNT(*) FROM ("+uses+") uses GROUP BY repository_id", args...)
	}
	services, args := servicesWithin(r, args)
	return s.counted(ctx, "SELECT repository_id, COUNT(*) FROM ("+uses+") uses WHERE id IN ("+services+") GROUP BY repository_id", args...)
}

// ServicesBySource counts the services within reach by the source of a
// repository that they follow. Sources without services are left out.
func (s *Store) ServicesBySource(ctx context.Context, repositoryID string, r identity.Reach) (map[string]int, error) {
	const uses = `SELECT id, source_id FROM services WHERE repository_id = $1 AND source_id <> ''
		UNION SELECT service_id, source_id FROM service_sources WHERE repository_id = $1`
	services, args := servicesWithin(r, []any{repositoryID})
	return s.counted(ctx, "SELECT source_id, COUNT(*) FROM ("+uses+") uses WHERE id IN ("+services+") GROUP BY source_id", args...)
}
