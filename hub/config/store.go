package config

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet"
)

// Document says where some bytes lie.
type Document struct {
	ID string
	// Backend is the name of the one that is read.
	Backend string
	// Parts is how many paths it takes up there.
	Parts int
	// Shared is that of a context or of outputs, which several services name.
	Shared bool
	// Ready is false until it was written.
	Ready bool
	// CopiedTo is a backend that has a checked copy of CopiedParts parts, to be
	// switched to; StaleIn is one that still has what was switched from.
	CopiedTo    string
	CopiedParts int
	StaleIn     string
	StaleParts  int
	CreatedAt   int64
}

// Kind of a bag.
const (
	KindContext = "context"
	KindOutputs = "outputs"
)

// BagRow is a context or outputs without its values.
type BagRow struct {
	Kind, Name string
	ProjectID  string
	// Project is its name, filled by reads; empty is every project's.
	Project  string
	Document string
	Version  int64
	// Services is how many use it; whoever shows it fills it.
	Services  int
	UpdatedAt int64
	UpdatedBy string
}

// Store keeps rows. Methods that change run in the transaction of the context.
type Store interface {
	DocumentStore
	ValueStore
	BagStore
	UseStore
	// Setting and SetSetting keep the default backend and the migration.
	Setting(ctx context.Context, name string) (string, error)
	SetSetting(ctx context.Context, name, value string) error
}

// DocumentStore keeps where documents lie.
type DocumentStore interface {
	InsertDocument(ctx context.Context, d Document) error
	// UpdateDocument writes all but the creation time. NotFound.
	UpdateDocument(ctx context.Context, d Document) error
	DeleteDocument(ctx context.Context, id string) error
	// DocumentsByID returns those that exist.
	DocumentsByID(ctx context.Context, ids []string) ([]Document, error)
	// DocumentsIn returns up to limit documents that lie in a backend or, when
	// stale, that it still has a copy of, after an id.
	DocumentsIn(ctx context.Context, backend string, stale bool, after string, limit int) ([]Document, error)
	// CountDocuments counts by backend.
	CountDocuments(ctx context.Context) (map[string]int64, error)
	// UnusedDocuments looks at up to limit after an id, in order of id, and
	// returns those that were made before a time and that nothing names, with
	// the last that it looked at, empty at the end.
	UnusedDocuments(ctx context.Context, after string, before int64, limit int) (unused []Document, last string, err error)
}

// ValueStore is what the built-in backend keeps.
type ValueStore interface {
	PutValue(ctx context.Context, path, sealed string) error
	// Values returns those that exist, by path.
	Values(ctx context.Context, paths []string) (map[string]string, error)
	DeleteValue(ctx context.Context, path string) error
	// ValuesNotUnder returns up to limit values, after a path, that do not
	// begin with a prefix.
	ValuesNotUnder(ctx context.Context, prefix, after string, limit int) (map[string]string, error)
}

// BagStore keeps contexts and outputs.
type BagStore interface {
	// PutBag inserts or replaces.
	PutBag(ctx context.Context, b BagRow) error
	// BagByName returns NotFound.
	BagByName(ctx context.Context, kind, name string) (BagRow, error)
	Bags(ctx context.Context, kind string) ([]BagRow, error)
	DeleteBag(ctx context.Context, kind, name string) error
}

// UseStore keeps which service uses what.
type UseStore interface {
	// PutUses replaces those of a service.
	PutUses(ctx context.Context, serviceID string, uses []fleet.Use) error
	// UsedBy returns the ids of services, in order.
	UsedBy(ctx context.Context, use fleet.Use) ([]string, error)
	// UsedNames returns every name of a kind that is used.
	UsedNames(ctx context.Context, kind string) ([]string, error)
}

// TellStore knows which contexts and outputs changed since their services were
// told.
type TellStore interface {
	// UntoldBags returns them, in order of kind and name.
	UntoldBags(ctx context.Context) ([]BagRow, error)
	// ToldBag notes that all services have a version of one.
	ToldBag(ctx context.Context, kind, name string, version int64) error
}

// Writer runs fn in one transaction; inside one it joins.
type Writer interface {
	Write(ctx context.Context, fn func(ctx context.Context) error) error
}
