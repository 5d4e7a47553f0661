package gitcache

import (
	"github.com/axle-cd/axle/hub/gitcache/record"
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

// Store stores repositories, sources, heads and artifacts. Each use declares
// the few methods that it needs. The SQL store and
// one in memory of the tests pass the same suite, gitcachetest.RunStoreSuite.
// Methods take part in the transaction in ctx, where there is one. Unless a
// comment says otherwise, the store sets times from the database's clock, to
// the microsecond, in UTC.
type Store interface {
	record.Lease
	record.RepositoryReader
	record.Changes
	record.SourceReader
	record.HeadStore
}
