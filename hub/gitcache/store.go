package gitcache

import (
	"context"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/digest"
)

// The rows, under the names for all packages but the agents.
type (
	// Repository is one upstream that the hub follows.
	Repository = record.Repository
	// Credentials are the secrets of one repository.
	Credentials = record.Credentials
	// Health is the state of an upstream, with times.
	Health = record.Health
	// Source is a folder at a ref of a repository; create it with NewSource.
	Source = record.Source
	// Head is what a source points at now.
	Head = record.Head
	// Artifact records how to make the tarball of a digest again.
	Artifact = record.Artifact
	// Recipe tells how to rebuild a tarball.
	Recipe = record.Recipe
	// Pin names an artifact that must remain servable.
	Pin = record.Pin
	// Holder is one run of one replica.
	Holder = record.Holder
	// Held is a lease that its holder still has.
	Held = record.Held
)

// NewSource normalises the fields of a source and derives its ID from them.
func NewSource(repositoryID, ref, folder string, files []string) (Source, error) {
	return record.NewSource(repositoryID, ref, folder, files)
}

// Store stores repositories, sources, heads and artifacts. The SQL store and
// the one in gitcachetest pass the same suite, gitcachetest.RunStoreSuite.
// Methods take part in the transaction in ctx, where there is one. Unless a
// comment says otherwise, the store sets times from the database's clock, to
// the microsecond, in UTC.
type Store interface {
	record.Store

	// Repositories returns all repositories, sorted by name.
	Repositories(ctx context.Context) ([]Repository, error)

	// FindRepository returns a repository by name or, when the name is empty,
	// the first by name of those with the URL. errcode.NotFound.
	FindRepository(ctx context.Context, name, url string) (Repository, error)

	// CreateRepository stores a new repository with the given ID, its
	// credentials sealed, health Unknown, Generation 1, and announces it.
	// errcode.Conflict when the ID or the name is taken.
	CreateRepository(ctx context.Context, r Repository, c Credentials) (Repository, error)

	// UpdateRepository replaces Name, ProjectID, URL, Auth and Options of the
	// repository with r's ID, and its credentials unless c is nil, and
	// announces it. Generation grows when URL, Auth or Options differ or c is
	// given; Health stays. With another URL it starts over, in the same
	// transaction: Moves grows, its heads and its Health are deleted, and its
	// lease is free under the next epoch. errcode.NotFound, errcode.Conflict
	UpdateRepository(ctx context.Context, r Repository, c *Credentials) (Repository, error)

	// DeleteRepository removes a repository that nothing uses, with its
	// sources, heads and artifacts. errcode.NotFound; errcode.Conflict when a
	// service still follows it.
	DeleteRepository(ctx context.Context, id string) error

	// PutSource ensures that a source is in use, and announces it when it is
	// new. errcode.NotFound when its repository does not exist.
	PutSource(ctx context.Context, s Source) error

	// DropSources deletes sources, with their heads, that no service follows
	// and that were last put before the given time. It returns how many.
	DropSources(ctx context.Context, putBefore time.Time) (int, error)

	// Source returns one source. errcode.NotFound.
	Source(ctx context.Context, id string) (Source, error)

	// Head returns the head of one source. errcode.NotFound when it was never
	// evaluated.
	Head(ctx context.Context, sourceID string) (Head, error)

	// HeadsOf returns the heads that exist of some sources, in any order.
	HeadsOf(ctx context.Context, sourceIDs []string) ([]Head, error)

	// Artifact returns the recipe of a digest. errcode.NotFound.
	Artifact(ctx context.Context, d digest.Digest) (Artifact, error)

	// Pinned returns those of the digests that no cache may evict, sorted.
	Pinned(ctx context.Context, of []digest.Digest) ([]digest.Digest, error)
}
