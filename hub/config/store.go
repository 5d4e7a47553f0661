package config

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/managed"
)

// Document says where some bytes are stored.
type Document struct {
	ID string
	// Backend is the backend that is read.
	Backend string
	// Parts is how many paths it uses there.
	Parts int
	// Shared is set for documents of contexts and outputs, which several
	// services use.
	Shared bool
	// Ready is false until the document was written.
	Ready bool
	// CopiedTo is a backend with a verified copy of CopiedParts parts, to be
	// switched to; StaleIn is one that still has the original.
	CopiedTo    string
	CopiedParts int
	StaleIn     string
	StaleParts  int
	CreatedAt   int64
}

// The kinds of value sets.
const (
	KindContext = "context"
	KindOutputs = "outputs"
)

// ValueSetRow is a context or outputs without its values.
type ValueSetRow struct {
	Kind, Name string
	ProjectID  string
	// Project is its name, filled by reads; empty is available to all projects.
	Project  string
	Document string
	Version  int64
	// Services is how many use it; the caller that shows it fills it in.
	Services  int
	UpdatedAt int64
	UpdatedBy string
	ManagedBy managed.Manager
}

// SettingStore stores the default backend and the migration. Here and in the other
// stores, methods that change something run in the transaction of the context.
type SettingStore interface {
	Setting(ctx context.Context, name string) (string, error)
	SetSetting(ctx context.Context, name, value string) error
}

// DocumentStore stores where documents are.
type DocumentStore interface {
	InsertDocument(ctx context.Context, d Document) error
	// UpdateDocument writes all but the creation time. NotFound.
	UpdateDocument(ctx context.Context, d Document) error
	DeleteDocument(ctx context.Context, id string) error
	// DocumentsByID returns those that exist.
	DocumentsByID(ctx context.Context, ids []string) ([]Document, error)
}

// DocumentInventory lists documents by where they are.
type DocumentInventory interface {
	// DocumentsIn returns up to limit documents after an id that are in a
	// backend or, with stale, of which it still has the original.
	DocumentsIn(ctx context.Context, backend string, stale bool, after string, limit int) ([]Document, error)
	// CountDocuments counts by backend.
	CountDocuments(ctx context.Context) (map[string]int64, error)
	// UnusedDocuments checks up to limit documents after an id, in order of id,
	// and returns those that were created before a time and are unused, with
	// the last id that it checked, empty at the end.
	UnusedDocuments(ctx context.Context, after string, before int64, limit int) (unused []Document, last string, err error)
}

// ValueStore stores the values of the built-in backend.
type ValueStore interface {
	PutValue(ctx context.Context, path, sealed string) error
	// Values returns those that exist, by path.
	Values(ctx context.Context, paths []string) (map[string]string, error)
	DeleteValue(ctx context.Context, path string) error
	// ValuesNotUnder returns up to limit values, after a path, that do not
	// begin with a prefix.
	ValuesNotUnder(ctx context.Context, prefix, after string, limit int) (map[string]string, error)
}

// ValueSetStore stores contexts and outputs.
type ValueSetStore interface {
	// PutValueSet inserts or replaces.
	PutValueSet(ctx context.Context, b ValueSetRow) error
	// ValueSetByName returns NotFound.
	ValueSetByName(ctx context.Context, kind, name string) (ValueSetRow, error)
	ValueSets(ctx context.Context, kind string) ([]ValueSetRow, error)
	DeleteValueSet(ctx context.Context, kind, name string) error
}

// UseStore stores which service uses what.
type UseStore interface {
	// PutUses replaces the uses of a service.
	PutUses(ctx context.Context, serviceID string, uses []fleet.Use) error
	// UsedBy returns the ids of services and global services that name something,
	// in order; with a project, only of those in it. Others may wait for outputs
	// that they may not use.
	UsedBy(ctx context.Context, use fleet.Use, projectID string) ([]string, error)
	// UsedNames returns every name of a kind that is used.
	UsedNames(ctx context.Context, kind string) ([]string, error)
}

// TellStore knows which contexts and outputs changed since their services were
// updated.
type TellStore interface {
	// UntoldValueSets returns them, in order of kind and name.
	UntoldValueSets(ctx context.Context) ([]ValueSetRow, error)
	// ToldValueSet records that all services have a version of one.
	ToldValueSet(ctx context.Context, kind, name string, version int64) error
}

// Writer runs fn in one transaction; inside one it joins.
type Writer interface {
	Write(ctx context.Context, fn func(ctx context.Context) error) error
}
