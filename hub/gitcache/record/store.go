package record

import (
	"context"
	"time"

	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
)

// The durations of ownership. A lease outlives the fence by more than the guard
// needs to kill a fetch, so two owners never fetch at once.
const (
	// LeaseTTL is how long a lease lasts by the database's clock.
	LeaseTTL = 20 * time.Second
	// RenewEvery is the time between renewals, during fetches too.
	RenewEvery = 5 * time.Second
	// FenceAfter is when a holder stops its own work, by its monotonic clock,
	// counted from the start of its last successful renewal.
	FenceAfter = 12 * time.Second
	// TakeOverGrace is how long after its expiry a lease may not be taken.
	TakeOverGrace = 5 * time.Second
	// LeaseBatch is the most leases that one call acquires or releases.
	LeaseBatch = 500
	// FetchGap is the minimum time between the starts of two fetches.
	FetchGap = 5 * time.Second
)

// Holder is one run of one replica. A replica that restarts has the same name
// and a new boot. Since a replica locks its data folder, its earlier run has
// ended and its leases may be taken at once.
type Holder struct {
	Replica string
	Boot    string
}

// Held is a lease that its holder still has.
type Held struct {
	RepositoryID string
	Epoch        int64
	// KickRequestedAt is when a fetch was requested by a replica that could not
	// reach the holder; zero when there is no request.
	KickRequestedAt time.Time
}

// Lease is the ownership of repositories. All times are the database's.
type Lease interface {
	// Acquire makes h the holder of those repositories whose lease is free,
	// expired more than grace ago, or belongs to another boot of the same
	// replica, in one transaction. It returns their new epochs, each one higher
	// than the last; it leaves out leases that others hold and ids that are no
	// repository. At most LeaseBatch at a time.
	Acquire(ctx context.Context, repositoryIDs []string, h Holder, ttl, grace time.Duration) (epochs map[string]int64, err error)

	// Renew extends all leases of h that have not expired, in one statement,
	// and returns them.
	Renew(ctx context.Context, h Holder, ttl time.Duration) ([]Held, error)

	// Release releases leases, by their epochs, so that any replica may take
	// them at once. It ignores leases that h does not hold under that epoch. At
	// most LeaseBatch at a time.
	Release(ctx context.Context, epochs map[string]int64, h Holder) error

	// StartFetch records that a fetch starts now, and clears a kick that was
	// requested before now. It requires that the epoch is the lease's, that the
	// lease has not expired, and that the last start was at least gap ago.
	// errcode.Conflict when the epoch is not current or the lease expired;
	// errcode.Exhausted with RetryAfter when it is too early.
	StartFetch(ctx context.Context, repositoryID string, epoch int64, gap time.Duration) error

	// RequestKick records a request for a fetch for the current or next holder.
	RequestKick(ctx context.Context, repositoryID string) error
}

// AcquireOne acquires the lease of one repository. errcode.Conflict when
// another replica holds it, or there is no such repository.
func AcquireOne(ctx context.Context, l Lease, repositoryID string, h Holder, ttl, grace time.Duration) (epoch int64, err error) {
	epochs, err := l.Acquire(ctx, []string{repositoryID}, h, ttl, grace)
	if err == nil && epochs[repositoryID] == 0 {
		err = errcode.New(errcode.Conflict, "repository %s is held by another replica, or is gone", repositoryID)
	}
	return epochs[repositoryID], err
}

// ReleaseOne releases one lease.
func ReleaseOne(ctx context.Context, l Lease, repositoryID string, h Holder, epoch int64) error {
	return l.Release(ctx, map[string]int64{repositoryID: epoch}, h)
}

// RepositoryReader reads what people registered.
type RepositoryReader interface {
	// Repository returns one repository. errcode.NotFound.
	Repository(ctx context.Context, id string) (Repository, error)

	// Credentials returns a repository's decrypted secrets. errcode.NotFound.
	Credentials(ctx context.Context, repositoryID string) (Credentials, error)

	// Repositories returns all repositories, sorted by name.
	Repositories(ctx context.Context) ([]Repository, error)

	// RepositoriesNamed returns those with one of the names, or one of the URLs
	// ignoring case and slashes at the end, in order of name.
	RepositoriesNamed(ctx context.Context, names, urls []string) ([]Repository, error)
}

// Changes is what people and services change: repositories, and which sources are in
// use.
type Changes interface {
	// CreateRepository stores a new repository with the given ID and manager,
	// its credentials sealed, health Unknown, Generation 1, and announces it.
	// errcode.Conflict when the ID or the name is taken.
	CreateRepository(ctx context.Context, r Repository, c Credentials) (Repository, error)

	// UpdateRepository replaces Name, ProjectID, URL, Auth and Options of the
	// repository with r's ID, and its credentials unless c is nil, and
	// announces it; one that differs in nothing is left as it is. Generation grows when URL, Auth or Options differ or c is
	// given; Health stays. With another URL, not only another spelling of it, it
	// starts over, in the same transaction: Moves grows, its heads and its Health are deleted, and its
	// lease is free under the next epoch. errcode.NotFound, errcode.Conflict, also
	// when another manages it than the caller of the context (hub/managed).
	UpdateRepository(ctx context.Context, r Repository, c *Credentials) (Repository, error)

	// DeleteRepository removes a repository that nothing uses, with its
	// sources, heads and artifacts. errcode.NotFound; errcode.Conflict when a
	// service still follows it, a template is bound to it, or another manages it.
	DeleteRepository(ctx context.Context, id string) error

	// PutSource ensures that a source is in use, and announces it when it is
	// new. errcode.NotFound when its repository does not exist.
	PutSource(ctx context.Context, s Source) error

	// DropSources deletes sources, with their heads, that no service follows
	// and that were last put before the given time. It returns how many.
	DropSources(ctx context.Context, putBefore time.Time) (int, error)
}

// SourceReader reads the sources in use, and what must remain servable.
type SourceReader interface {
	// Sources returns the sources in use of a repository, sorted by ID.
	Sources(ctx context.Context, repositoryID string) ([]Source, error)

	// Source returns one source. errcode.NotFound.
	Source(ctx context.Context, id string) (Source, error)

	// Artifact returns the recipe of a digest. errcode.NotFound.
	Artifact(ctx context.Context, d digest.Digest) (Artifact, error)

	// Pins returns what a repository must be able to serve.
	Pins(ctx context.Context, repositoryID string) ([]Pin, error)

	// Pinned returns those of the digests that no cache may evict, sorted.
	Pinned(ctx context.Context, of []digest.Digest) ([]digest.Digest, error)
}

// HeadStore has what the agents of repositories found. Writes carry the epoch and are
// refused with errcode.Conflict when the row, or the repository's lease, has a
// later one.
type HeadStore interface {
	// Heads returns the heads of a repository's sources, sorted by source ID.
	// A source that was never evaluated has none.
	Heads(ctx context.Context, repositoryID string) ([]Head, error)

	// Head returns the head of one source. errcode.NotFound when it was never
	// evaluated.
	Head(ctx context.Context, sourceID string) (Head, error)

	// HeadsOf returns the heads that exist of some sources, in any order.
	HeadsOf(ctx context.Context, sourceIDs []string) ([]Head, error)

	// WriteHeads replaces the given heads and adds or replaces the artifacts
	// they point at, in one transaction with the feed rows that announce them.
	// Each head's row is written by one statement that also checks that the
	// stored epoch is not above the given one. Heads of deleted sources are
	// left out. At most 500 at a time. The store sets UpdatedAt.
	WriteHeads(ctx context.Context, repositoryID string, epoch int64, heads []Head, artifacts []Artifact) error

	// WriteHealth records an upstream's health. It appends to the change feed
	// only when state or message changed.
	WriteHealth(ctx context.Context, repositoryID string, epoch int64, h Health) error
}
