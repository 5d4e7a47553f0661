package fleet

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet/binding"
	"github.com/axle-cd/axle/hub/fleet/specrules"
)

// The domain's names for sources and what they are bound to.
type (
	SourceWant = specrules.SourceWant
	Bound      = binding.Bound
	Place      = binding.Place
)

// Upstream is the health of a repository.
type Upstream struct {
	Name string
	// Kind is git, helm, oci or bucket.
	Kind string
	// FailingSince is zero while it can be read; Message is the error otherwise.
	FailingSince int64
	Message      string
}

// Sources is where services get their content from; the hub's wiring implements
// it with the git cache.
type Sources interface {
	binding.Sources
	// Heads returns the heads that exist of some sources, by source id.
	Heads(ctx context.Context, sourceIDs []string) (map[string]Head, error)
	// Moved returns up to limit sources after an id, in order of id, whose
	// heads moved since Followed was last called for them.
	Moved(ctx context.Context, after string, limit int) ([]string, error)
	// Followed records, in the transaction of the context, that all services of
	// the sources are up to date. A head that moves meanwhile makes the
	// transaction retry.
	Followed(ctx context.Context, sourceIDs []string) error
	// Upstreams returns the health of those repositories that exist, by id.
	Upstreams(ctx context.Context, repositoryIDs []string) (map[string]Upstream, error)
}

// Sealer encrypts secrets at rest. The purpose is bound to the sealed text, so
// that one row's bytes cannot be used in another.
type Sealer interface {
	Seal(plain []byte, purpose string) string
	Open(sealed, purpose string) ([]byte, error)
}

// Writer runs fn in one transaction, in the context that it passes to fn;
// inside a transaction it joins that one. It may run fn several times.
type Writer interface {
	Write(ctx context.Context, fn func(ctx context.Context) error) error
	// WriteBatched lets many small writes share one commit and returns after it.
	WriteBatched(ctx context.Context, fn func(ctx context.Context) error) error
}
