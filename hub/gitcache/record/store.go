package record

import (
	"context"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
)

// The numbers of ownership. A lease outlives the fence by more than the guard
// needs to kill a fetch, so two owners never fetch at once.
const (
	// LeaseTTL is how long a lease lasts by the database's clock.
	LeaseTTL = 20 * time.Second
	// RenewEvery is the time between renewals, during fetches too.
	RenewEvery = 5 * time.Second
	// FenceAfter is when a holder stops itself, by its own monotonic clock,
	// counted from the start of its last good renewal.
	FenceAfter = 12 * time.Second
	// TakeOverGrace is how long past its expiry a lease is left alone.
	TakeOverGrace = 5 * time.Second
	// LeaseBatch is the most leases that one call takes or gives back.
	LeaseBatch = 500
	// FetchGap is the least time between the starts of two fetches.
	FetchGap = 5 * time.Second
)

// Holder is one life of one replica. A replica that starts again has the same
// name and a new boot; since a replica locks its data folder, its earlier life
// is over and its leases may be taken at once.
type Holder struct {
	Replica string
	Boot    string
}

// Held is a lease that its holder still has.
type Held struct {
	RepositoryID string
	Epoch        int64
	// KickRequestedAt is set when somebody wants a fetch and could not reach
	// the holder. Time of the request; zero when nobody does.
	KickRequestedAt time.Time
}

// Lease is the ownership of repositories. All times are the database's.
type Lease interface {
	// Acquire makes h the holder of those of the repositories whose lease is
	// free, ran out more than grace ago, or belongs to another boot of the same
	// replica, in one transaction. It returns their new epochs, each one more
	// than the last; what others hold, or is no repository, is not among them.
	// At most LeaseBatch at a time.
	Acquire(ctx context.Context, repositoryIDs []string, h Holder, ttl, grace time.Duration) (epochs map[string]int64, err error)

	// Renew extends all leases of h that have not run out, in one statement,
	// and returns them.
	Renew(ctx context.Context, h Holder, ttl time.Duration) ([]Held, error)

	// Release gives leases back, by their epochs, so that anyone may have them
	// at once. It does nothing to one that h does not hold under its epoch. At
	// most LeaseBatch at a time.
	Release(ctx context.Context, epochs map[string]int64, h Holder) error

	// StartFetch records that a fetch starts now, if the epoch is the lease's,
	// the lease has not run out, and the last start was at least gap ago, and
	// clears a kick requested before now. errcode.Conflict when the epoch is
	// not current or the lease ran out; errcode.Exhausted with RetryAfter when
	// it is too early.
	StartFetch(ctx context.Context, repositoryID string, epoch int64, gap time.Duration) error

	// RequestKick leaves a wish for a fetch for whoever is, or becomes, the
	// holder.
	RequestKick(ctx context.Context, repositoryID string) error
}

// AcquireOne takes the lease of one repository. errcode.Conflict when someone
// else holds it, or there is no such repository.
func AcquireOne(ctx context.Context, l Lease, repositoryID string, h Holder, ttl, grace time.Duration) (epoch int64, err error) {
	epochs, err := l.Acquire(ctx, []string{repositoryID}, h, ttl, grace)
	if err == nil && epochs[repositoryID] == 0 {
		err = errcode.New(errcode.Conflict, "repository %s is held by another replica, or is gone", repositoryID)
	}
	return epochs[repositoryID], err
}

// ReleaseOne gives one lease back.
func ReleaseOne(ctx context.Context, l Lease, repositoryID string, h Holder, epoch int64) error {
	return l.Release(ctx, map[string]int64{repositoryID: epoch}, h)
}

// Store is what the agent of a repository reads and writes. Writes carry the epoch and are
// refused with errcode.Conflict when the row, or the repository's lease, has
// seen a later one.
type Store interface {
	Lease

	// Repository returns one repository. errcode.NotFound.
	Repository(ctx context.Context, id string) (Repository, error)

	// Credentials returns a repository's secrets, opened. errcode.NotFound.
	Credentials(ctx context.Context, repositoryID string) (Credentials, error)

	// Sources returns the sources in use of a repository, sorted by ID.
	Sources(ctx context.Context, repositoryID string) ([]Source, error)

	// Heads returns the heads of a repository's sources, sorted by source ID.
	// A source that was never evaluated has none.
	Heads(ctx context.Context, repositoryID string) ([]Head, error)

	// WriteHeads replaces the given heads and adds or replaces the artifacts
	// they point at, in one transaction with the feed rows that announce them.
	// Each head's row is written by one statement that also checks that the
	// stored epoch is not above the given one. Heads of sources that are gone
	// are left out. At most 500 at a time. UpdatedAt is set by the store.
	WriteHeads(ctx context.Context, repositoryID string, epoch int64, heads []Head, artifacts []Artifact) error

	// WriteHealth records what an agent learnt of its upstream. The change
	// feed hears of it only when state or message changed.
	WriteHealth(ctx context.Context, repositoryID string, epoch int64, h Health) error

	// Pins returns what must stay possible to serve from a repository.
	Pins(ctx context.Context, repositoryID string) ([]Pin, error)
}
