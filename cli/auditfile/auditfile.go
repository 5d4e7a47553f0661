// Package auditfile is the audit log as files on a person's machine: an export
// as JSON lines. cli calls it; internal/hashchain judges what is in a file.
package auditfile

import (
	"context"
	"encoding/json"
	"io"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/hashchain"
	"github.com/axle-cd/axle/sdk"
)

// Write writes all records above a seq as JSON lines, each checkpoint behind the
// record that it saw.
func Write(ctx context.Context, client *sdk.Client, out io.Writer, after int64) error {
	all, err := client.Audit.Checkpoints(ctx, connect.NewRequest(&hubv1.ListAuditCheckpointsRequest{}))
	if err != nil {
		return err
	}
	points := map[int64]*hubv1.AuditCheckpoint{}
	for _, c := range all.Msg.GetCheckpoints() {
		if c.GetKind() == hashchain.KindSeen {
			points[c.GetSeq()] = c
		}
	}
	lines := json.NewEncoder(out)
	for {
		page, err := client.Audit.List(ctx, connect.NewRequest(&hubv1.ListAuditRequest{After: after, OldestFirst: true, Limit: 1000}))
		if err != nil {
			return err
		}
		for _, r := range page.Msg.GetRecords() {
			after = r.GetSeq()
			line := hashchain.Line{Sequence: r.GetSeq(), Previous: r.GetPrev(), Hash: r.GetHash(), Record: json.RawMessage(r.GetRecord())}
			if err := lines.Encode(hashchain.Exported{Line: &line}); err != nil {
				return err
			}
			if p := points[after]; p != nil {
				c := hashchain.Checkpoint{Kind: p.GetKind(), Sequence: p.GetSeq(), Hash: p.GetHash(), At: p.GetAt(), KeyID: p.GetKeyId(), Signature: p.GetSignature()}
				if err := lines.Encode(hashchain.Exported{Checkpoint: &c}); err != nil {
					return err
				}
			}
		}
		if len(page.Msg.GetRecords()) == 0 {
			return nil
		}
	}
}
