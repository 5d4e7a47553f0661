package fleet

import "context"

// SourceWant is a source that a service follows.
type SourceWant struct {
	RepositoryID string
	Ref          string
	Folder       string
	Files        []string
}

// Sources is where services get their content from; the hub's wiring makes it
// of the git cache.
type Sources interface {
	// RepositoryID finds a repository by name, or by URL when the name is
	// empty. NotFound.
	RepositoryID(ctx context.Context, name, url string) (string, error)
	// Track follows a source in the transaction of the context and returns
	// its id. Invalid when the parts make no source.
	Track(ctx context.Context, want SourceWant) (string, error)
	// Heads returns the heads that exist of some sources, by source id.
	Heads(ctx context.Context, sourceIDs []string) (map[string]Head, error)
}

// Sealer keeps secrets unreadable at rest. The purpose is bound to what is
// sealed, so that one row's bytes are of no use in another.
type Sealer interface {
	Seal(plain []byte, purpose string) string
	Open(sealed, purpose string) ([]byte, error)
}

// Writer runs fn in one transaction whose context it hands on; inside one it
// joins. It may run fn several times.
type Writer interface {
	Write(ctx context.Context, fn func(ctx context.Context) error) error
	// WriteBatched lets many small writes share one commit and returns after
	// it.
	WriteBatched(ctx context.Context, fn func(ctx context.Context) error) error
}
