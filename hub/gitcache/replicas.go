package gitcache

import (
	"context"

	"github.com/axle-cd/axle/hub/gitcache/shard"
	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/internal/errcode"
)

// Placement says which replica owns a repository, and which should.
type Placement = shard.Placement

// PlacementStore stores which replica should own what, beside the leases.
type PlacementStore interface {
	// Placements returns the placements of all repositories, in order of id.
	Placements(ctx context.Context) ([]Placement, error)
	// Placement returns one placement. errcode.NotFound.
	Placement(ctx context.Context, repositoryID string) (Placement, error)
	// Assign writes which replicas should own and follow repositories, and
	// announces it.
	Assign(ctx context.Context, all []shard.Assignment) error
	// Followed records that a follower has everything that the owner has now.
	Followed(ctx context.Context, repositoryID, replica string) error
}

// Members knows the replicas of this hub.
type Members interface {
	// Look reads them again; Known returns the last result.
	Look(ctx context.Context) error
	Known() []peer.Replica
	// Others returns the reachable replicas, without this one.
	Others() []peer.Replica
	Named(name string) (peer.Replica, bool)
}

// Replicas is how a cache reaches and works with the other replicas.
type Replicas struct {
	Members   Members
	Placement PlacementStore
	// Client calls the others.
	Client *peer.Client
	// Lease is held by the replica that places repositories.
	Lease *peer.Lease
}

func (r *Replicas) check() error {
	if r != nil && (r.Members == nil || r.Placement == nil || r.Client == nil || r.Lease == nil) {
		return errcode.New(errcode.Invalid, "git cache needs the members, the placements, a client and a lease of its replicas, or none of them")
	}
	return nil
}
