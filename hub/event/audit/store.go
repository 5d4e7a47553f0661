package audit

import (
	"context"

	"github.com/axle-cd/axle/internal/hashchain"
)

// Query chooses rows. The zero value asks for the first hundred.
type Query struct {
	// After asks for greater sequences, Before for smaller ones, unless zero.
	After, Before int64
	// Newest asks for the newest first.
	Newest bool
	// Since and Until bound the time: from, and below, unless zero.
	Since, Until int64
	// Texts that must be equal unless empty; Object is a kind, a name, or
	// kind/name.
	Actor, ClusterID, Action, Object, Result string
	// Limit is 100 when zero, at most 1,000.
	Limit int
}

// Store keeps the chain. It is shared by all replicas.
type Store interface {
	// AppendAudit adds rows at the end of the chain in one transaction: extend
	// gets the end and returns the rows that follow it. Nobody else adds rows
	// meanwhile. It may call extend several times.
	AppendAudit(ctx context.Context, extend func(end hashchain.End) ([]Row, error)) error
	// AuditEnd returns the end as the chain's own head has it.
	AuditEnd(ctx context.Context) (hashchain.End, error)
	// AuditRows returns rows in order.
	AuditRows(ctx context.Context, q Query) ([]Row, error)
	// AuditCheckpoints returns those that are kept, in order.
	AuditCheckpoints(ctx context.Context) ([]hashchain.Checkpoint, error)
	// PutAuditCheckpoint keeps one; one that is there stays as it is.
	PutAuditCheckpoint(ctx context.Context, c hashchain.Checkpoint) error
	// CutAudit drops the rows and checkpoints up to a checkpoint of the kind
	// cut, and keeps that, in one transaction. It does nothing when the chain
	// was cut further already.
	CutAudit(ctx context.Context, c hashchain.Checkpoint) error
	// AuditCursor returns how far a sink has everything, 0 when nothing.
	AuditCursor(ctx context.Context, sink string) (int64, error)
	// PutAuditCursor notes that.
	PutAuditCursor(ctx context.Context, sink string, sequence int64) error
}
