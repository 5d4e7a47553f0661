package store

import "context"

// ServicesByRepository counts the services that follow each repository, by
// repository id. Repositories that nobody follows are not there.
func (s *Store) ServicesByRepository(ctx context.Context) (map[string]int, error) {
	counts := map[string]int{}
	err := s.each(ctx, `SELECT repository_id, COUNT(*) FROM (
		SELECT id, repository_id FROM services WHERE repository_id <> ''
		UNION SELECT service_id, repository_id FROM service_sources) uses GROUP BY repository_id`, nil, func(row scan) error {
		var id string
		var n int
		if err := row(&id, &n); err != nil {
			return err
		}
		counts[id] = n
		return nil
	})
	return counts, err
}

// ServicesBySource counts the services that follow each source of a
// repository, by source id. Sources that nobody follows are not there.
func (s *Store) ServicesBySource(ctx context.Context, repositoryID string) (map[string]int, error) {
	counts := map[string]int{}
	err := s.each(ctx, `SELECT source_id, COUNT(*) FROM (
		SELECT id, source_id FROM services WHERE repository_id = $1 AND source_id <> ''
		UNION SELECT service_id, source_id FROM service_sources WHERE repository_id = $1) uses GROUP BY source_id`, []any{repositoryID}, func(row scan) error {
		var id string
		var n int
		if err := row(&id, &n); err != nil {
			return err
		}
		counts[id] = n
		return nil
	})
	return counts, err
}
