package gitcache

import "context"

// Sources returns the sources of a repository that are in use, for people.
func (c *Cache) Sources(ctx context.Context, repositoryID string) ([]Source, error) {
	return c.store.Sources(ctx, repositoryID)
}
