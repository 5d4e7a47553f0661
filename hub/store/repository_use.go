package store

import (
	"context"
	"fmt"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
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

// usersNamed is how many users of a repository are named.
const usersNamed = 5

// RepositoryUsers returns a function that counts the services and the global services
// that are bound to a repository by project, and names the first of those within reach.
// Services of a global service count as that one; those for all projects have an empty
// project, and so have the objects of the hub as a whole, which everybody may read.
func RepositoryUsers(s *Store) func(ctx context.Context, repositoryID string, r identity.Reach) (projects map[string]int, seen []string, err error) {
	const own = "FROM services ws LEFT JOIN clusters wc ON wc.id = ws.cluster_id WHERE ws.managed_by_tool <> 'hub' AND ws.id IN (" + rows.Followers + ") "
	return func(ctx context.Context, repositoryID string, r identity.Reach) (projects map[string]int, seen []string, err error) {
		if projects, err = s.counted(ctx, "SELECT ws.project_id, COUNT(*) "+own+"GROUP BY ws.project_id", repositoryID); err != nil {
			return nil, nil, err
		}
		condition, args := within(r, "wc", "ws", []any{repositoryID})
		seen, err = rowsOf(ctx, s, query.Value[string], "SELECT 'service ' || COALESCE(wc.name, '') || '/' || ws.name AS named "+own+"AND "+condition+
			fmt.Sprintf(" ORDER BY named LIMIT %d", usersNamed), args...)
		if err != nil {
			return nil, nil, err
		}
		templates, err := s.BoundTo(ctx, repositoryID)
		for _, g := range templates {
			if projects[g.ProjectID]++; len(seen) < usersNamed && r.Covers(g.Scope()) {
				seen = append(seen, "global service "+g.Name)
			}
		}
		if err != nil {
			return nil, nil, err
		}
		objects, total, err := s.ObjectUsers(ctx, repositoryID)
		if total > 0 {
			projects[""] += int(total)
		}
		for _, o := range objects {
			if len(seen) < usersNamed {
				seen = append(seen, o.Kind+" "+o.Name)
			}
		}
		return projects, seen, err
	}
}

// ServicesBySource counts the services within reach by the source of a
// repository that they follow. Sources without services are left out.
func (s *Store) ServicesBySource(ctx context.Context, repositoryID string, r identity.Reach) (map[string]int, error) {
	const uses = `SELECT id, source_id FROM services WHERE repository_id = $1 AND source_id <> ''
		UNION SELECT service_id, source_id FROM service_sources WHERE repository_id = $1`
	services, args := servicesWithin(r, []any{repositoryID})
	return s.counted(ctx, "SELECT source_id, COUNT(*) FROM ("+uses+") uses WHERE id IN ("+services+") GROUP BY source_id", args...)
}
