package gitcache

import (
	"context"
	"crypto/rand"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache/gitagent"
	"github.com/axle-cd/axle/internal/errcode"
)

// Repositories returns all repositories, sorted by name.
func (c *Cache) Repositories(ctx context.Context) ([]Repository, error) {
	return c.store.Repositories(ctx)
}

// Repository returns one repository. errcode.NotFound.
func (c *Cache) Repository(ctx context.Context, id string) (Repository, error) {
	return c.store.Repository(ctx, id)
}

// CreateRepository checks the URL and stores a new repository, which is polled
// at once. Only Name, ProjectID, URL and Auth of r are taken; a user or
// password inside the URL is moved into the credentials. errcode.Invalid,
// errcode.Conflict.
func (c *Cache) CreateRepository(ctx context.Context, r Repository, creds Credentials) (Repository, error) {
	if strings.TrimSpace(r.Name) == "" {
		return Repository{}, errcode.New(errcode.Invalid, "repository has no name; give it one")
	}
	r.ID, r.Kind = "repo_"+strings.ToLower(rand.Text()), gitagent.Git
	return c.store.CreateRepository(ctx, r, creds)
}

// UpdateRepository replaces name, project, URL and auth of a repository, and
// its credentials unless creds is nil. errcode.Invalid, errcode.NotFound,
// errcode.Conflict.
func (c *Cache) UpdateRepository(ctx context.Context, r Repository, creds *Credentials) (Repository, error) {
	return c.store.UpdateRepository(ctx, r, creds)
}

// DeleteRepository removes a repository that nothing uses. errcode.NotFound,
// errcode.Conflict.
func (c *Cache) DeleteRepository(ctx context.Context, id string) error {
	return c.store.DeleteRepository(ctx, id)
}
