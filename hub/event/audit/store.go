package audit

import (
	"context"

	"github.com/axle-cd/axle/internal/hashchain"
)

// Query selects rows. The zero value selects the first hundred.
type Query struct {
	// After and Before select greater and smaller sequences, unless zero.
	After, Before int64
	// Newest returns the newest first.
	Newest bool
	// Since and Until select times from Since on and before Until, unless zero.
	Since, Until int64
	// These texts must be equal unless empty; Object is a kind, a name, or
	// kind/name.
	Actor, ClusterID, Action, Object, Result string
	// Limit is 100 when zero, at most 1,000.
	Limit int
}

// Chain stores the rows of the chain. All replicas share it.
type Chain interface {
	// AppendAudit adds rows at the end of the chain in one transaction: extend
	// gets the end and returns the rows that follow it. Nobody else adds rows
	// meanwhile. It may call extend several times.
	AppendAudit(ctx context.Context, extend func(end hashchain.End) ([]Row, error)) error
	// AuditEnd returns the end according to the chain's head.
	AuditEnd(ctx context.Context) (hashchain.End, error)
	// AuditRows returns rows in order.
	AuditRows(ctx context.Context, q Query) ([]Row, error)
}

// Checkpoints stores the signed checkpoints of the chain.
type Checkpoints interface {
	// AuditCheckpoints returns all stored checkpoints, in order.
	AuditCheckpoints(ctx context.Context) ([]hashchain.Checkpoint, error)
	// PutAuditCheckpoint stores a checkpoint; an existing one stays unchanged.
	PutAuditCheckpoint(ctx context.Context, c hashchain.Checkpoint) error
	// CutAudit drops the rows and checkpoints up to a checkpoint of the kind
	// cut, and stores that, in one transaction. It does nothing when the chain
	// was already cut further.
	CutAudit(ctx context.Context, c hashchain.Checkpoint) error
}

// Cursors stores how far each sink has the rows.
type Cursors interface {
	// AuditCursor returns up to where a sink has all rows, 0 when it has none.
	AuditCursor(ctx context.Context, sink string) (int64, error)
	// PutAuditCursor stores that position.
	PutAuditCursor(ctx context.Context, sink string, sequence int64) error
}
