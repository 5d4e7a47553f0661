package gitcache

import "context"

// Sources returns the sources in use of a repository, for people.
func (c *Cache) Sources(ctx context.Context, repositoryID string) ([]Source, error) {
	return c.store.Sources(ctx, repositoryID)
}
