// Package sources stores the git cache's rows in the hub's database:
// repositories with their leases and placements, sources with their heads, and
// webhooks. hub/store embeds its Table; hub/gitcache decides what is written.
// Credentials and secrets are sealed here, and decrypted only by the methods that
// return them.
//
// Invariants: a writer of heads or health has the lease of the latest epoch and
// keeps it until the transaction ends; a check of old sources costs the same in
// any fleet; a repository with another URL keeps nothing of the previous one.
package sources

import (
	"context"
	"sync"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/hub/store/sqldb"
	"github.com/axle-cd/axle/internal/seal"
)

// Table holds all of them. Its methods are safe for concurrent use.
type Table struct {
	*leaseRows
	db           *sqldb.DB
	sealer       func() *seal.Sealer
	putArtifacts func(ctx context.Context, all []gitcache.Artifact) error

	mu sync.Mutex
	// pruned is the progress of DropSources.
	pruned string
}

// leaseRows are the replicas that own and follow repositories.
type leaseRows struct{ db *sqldb.DB }

// New returns the sources in a database. sealer returns the hub's key, and
// putArtifacts stores the artifacts that heads point at.
func New(db *sqldb.DB, sealer func() *seal.Sealer, putArtifacts func(ctx context.Context, all []gitcache.Artifact) error) *Table {
	return &Table{leaseRows: &leaseRows{db}, db: db, sealer: sealer, putArtifacts: putArtifacts}
}

// Queries are the queries that read each table, for tests.
var Queries = map[rows.Definition]string{
	headTable: selectHeads, placementTable: selectPlacements, repositoryTable: selectRepositories, sourceTable: selectSources,
	webhookTable: selectWebhooks, secretWebhookTable: selectSecretWebhooks,
}
