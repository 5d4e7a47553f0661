package repoagent

import (
	"context"

	"github.com/axle-cd/axle/hub/gitcache/record"
)

// Remote is one upstream of one kind. The agent calls it from the goroutine of
// Run alone.
type Remote interface {
	// Open finds what an earlier life left on this disk. resume says that the
	// repository's present trouble is still the one that its row tells of. An
	// error ends Run.
	Open(ctx context.Context, r record.Repository) (resume bool, err error)
	// Read asks upstream what there is now for the sources. It calls Connect
	// first, and Said and Fetched as it learns. An error says that upstream
	// cannot be read; what is wrong with one source alone is Evaluate's to tell.
	Read(ctx context.Context, sources []record.Source) error
	// Covers reports whether Evaluate can tell of the sources by what was read
	// last.
	Covers(ctx context.Context, sources []record.Source) bool
	// Evaluate writes the heads that changed. With a cause upstream could not be
	// read: then only sources without content are told, the others keep what
	// they have. sources is nil when the pass ended before they were known. An
	// error with code Conflict means that the lease is gone.
	Evaluate(ctx context.Context, sources []record.Source, cause error) error
	// Tidy keeps what lies on this disk small; well says that the pass went
	// well. What fails in it fails nobody.
	Tidy(ctx context.Context, well bool)
	// Close ends what the remote runs. The context of Open has ended.
	Close()
}
