package repoagent

import (
	"context"

	"github.com/axle-cd/axle/hub/gitcache/record"
)

// Remote is one upstream of one kind. The agent calls it only from the goroutine of
// Run.
type Remote interface {
	// Open loads what an earlier lease left on this disk. resume reports whether the
	// failure that the repository's row records still applies. An error ends Run.
	Open(ctx context.Context, r record.Repository) (resume bool, err error)
	// Read asks upstream for the present state of the sources. It calls Connect
	// first, and Said and Fetched as it learns. An error means that upstream cannot
	// be read; an error of a single source is left to Evaluate.
	Read(ctx context.Context, sources []record.Source) error
	// Covers reports whether Evaluate can evaluate the sources from the last Read.
	Covers(ctx context.Context, sources []record.Source) bool
	// Evaluate writes the heads that changed. cause is why upstream could not be
	// read, if so: then only sources without content get an error, and the others
	// keep their heads. sources is nil if the pass ended before they were known. An
	// error with code Conflict means that the lease is lost.
	Evaluate(ctx context.Context, sources []record.Source, cause error) error
	// Tidy reduces what is stored on this disk; ok reports whether the pass
	// succeeded. It logs its errors.
	Tidy(ctx context.Context, ok bool)
	// Close stops what the remote runs, after the context of Open has ended.
	Close()
}
