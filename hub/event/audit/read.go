package audit

import (
	"context"
	"crypto/ed25519"

	"github.com/axle-cd/axle/internal/hashchain"
)

// Reader reads what a Log keeps.
type Reader struct{ Log *Log }

// Rows returns the records that a query names, in order.
func (r Reader) Rows(ctx context.Context, q Query) ([]Row, error) {
	return r.Log.config.Chain.AuditRows(ctx, q)
}

// Issued returns all checkpoints that this hub signed, and the keys that may have
// signed them, by id.
func (r Reader) Issued(ctx context.Context) ([]hashchain.Checkpoint, map[string]ed25519.PublicKey, error) {
	all, err := r.Log.config.Checkpoints.AuditCheckpoints(ctx)
	if err != nil {
		return nil, nil, err
	}
	keys, err := r.Log.config.Signer.CheckpointKeys(ctx)
	return all, keys, err
}
