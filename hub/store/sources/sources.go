// Package sources keeps what the git cache knows of repositories, in the hub's
// database: their leases and places, their sources with the heads, and webhooks.
// hub/store embeds its Table; hub/gitcache decides what is written. Credentials
// and secrets are sealed here, and opened for those who ask for them alone.
//
// What holds: whoever writes heads or health has the lease of the latest epoch,
// which stays theirs until the transaction ends; a look at old sources costs the
// same in any fleet; a repository with another URL has nothing of the former one.
package sources

import (
	"context"
	"sync"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/hub/store/sqldb"
	"github.com/axle-cd/axle/internal/seal"
)

// Table is all of it. Its methods may be called by many goroutines.
type Table struct {
	*leaseRows
	db           *sqldb.DB
	sealer       func() *seal.Sealer
	putArtifacts func(ctx context.Context, all []gitcache.Artifact) error

	mu sync.Mutex
	// pruned is how far DropSources came.
	pruned string
}

// leaseRows are who owns and follows repositories.
type leaseRows struct{ db *sqldb.DB }

// New returns the sources in a database, with the hub's key and what keeps the
// artifacts that heads point at.
func New(db *sqldb.DB, sealer func() *seal.Sealer, putArtifacts func(ctx context.Context, all []gitcache.Artifact) error) *Table {
	return &Table{leaseRows: &leaseRows{db}, db: db, sealer: sealer, putArtifacts: putArtifacts}
}

// Queries read the tables, by their definitions.
var Queries = map[rows.Definition]string{
	headTable: selectHeads, placementTable: selectPlacements, repositoryTable: selectRepositories, sourceTable: selectSources,
	webhookTable: selectWebhooks, secretWebhookTable: selectSecretWebhooks,
}
