package gitcache

import (
	"context"

	"github.com/axle-cd/axle/hub/gitcache/shard"
	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/internal/errcode"
)

// Placement says who owns a repository, and who should.
type Placement = shard.Placement

// PlacementStore keeps who should own what, beside the leases.
type PlacementStore interface {
	// Placements returns those of all repositories, in order of id.
	Placements(ctx context.Context) ([]Placement, error)
	// Placement returns one of them. errcode.NotFound.
	Placement(ctx context.Context, repositoryID string) (Placement, error)
	// Assign writes who should own and follow repositories, and announces it.
	Assign(ctx context.Context, all []shard.Assignment) error
	// Followed notes that a follower has all that the owner has now.
	Followed(ctx context.Context, repositoryID, replica string) error
}

// Members is who the replicas of this hub are.
type Members interface {
	// Look reads them anew; Known returns what was read last.
	Look(ctx context.Context) error
	Known() []peer.Replica
	// Others are those that can be asked, without this one.
	Others() []peer.Replica
	Named(name string) (peer.Replica, bool)
}

// Replicas is how a cache knows the other replicas and works with them.
type Replicas struct {
	Members   Members
	Placement PlacementStore
	// Client calls the others.
	Client *peer.Client
	// Lease is held by the one that places repositories.
	Lease *peer.Lease
}

func (r *Replicas) check() error {
	if r != nil && (r.Members == nil || r.Placement == nil || r.Client == nil || r.Lease == nil) {
		return errcode.New(errcode.Invalid, "git cache needs the members, the placements, a client and a lease of its replicas, or none of them")
	}
	return nil
}
