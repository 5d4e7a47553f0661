// Package auditapi serves the API calls about the audit log: its records,
// whether the chain is intact, and its signed checkpoints. hub/console
// authorizes the callers and registers it; hub/event/audit keeps and verifies
// the log.
package auditapi

import (
	"context"
	"encoding/hex"
	"strings"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/hashchain"
)

// maxCheckpoints limits the checkpoints that one call compares.
const maxCheckpoints = 1000

// API implements the calls. Both fields are required.
type API struct {
	Log *audit.Log
	// ClusterID returns a cluster's id by name, and an unknown name unchanged.
	ClusterID func(ctx context.Context, name string) string
}

var _ hubv1connect.AuditHandler = (*API)(nil)

// List implements hubv1connect.AuditHandler.
func (s *API) List(ctx context.Context, r *connect.Request[hubv1.ListAuditRequest]) (*connect.Response[hubv1.ListAuditResponse], error) {
	m := r.Msg
	q := audit.Query{
		After: m.GetAfter(), Before: m.GetBefore(), Newest: !m.GetOldestFirst(), Since: m.GetSince(), Until: m.GetUntil(),
		Actor: m.GetActor(), ClusterID: m.GetCluster(), Action: m.GetAction(), Object: m.GetObject(), Result: m.GetResult(), Limit: int(m.GetLimit()),
	}
	if strings.Count(q.Action, "/") == 1 && q.Action[0] != '/' {
		q.Action = hubv1.Procedures + q.Action
	}
	if q.ClusterID != "" {
		q.ClusterID = s.ClusterID(ctx, q.ClusterID)
	}
	rows, err := audit.Reader{Log: s.Log}.Rows(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListAuditResponse{}
	for _, row := range rows {
		out.Records = append(out.Records, &hubv1.AuditRecord{Seq: row.Sequence, Prev: row.Previous, Hash: row.Hash, Record: string(row.Record)})
	}
	return connect.NewResponse(out), nil
}

// Verify implements hubv1connect.AuditHandler.
func (s *API) Verify(ctx context.Context, r *connect.Request[hubv1.VerifyAuditRequest]) (*connect.Response[hubv1.VerifyAuditResponse], error) {
	if n := len(r.Msg.GetCheckpoints()); n > maxCheckpoints {
		return nil, errcode.New(errcode.Invalid, "checkpoints: %d are too many; give the last %d", n, maxCheckpoints)
	}
	var elsewhere []hashchain.Checkpoint
	for _, c := range r.Msg.GetCheckpoints() {
		if c.GetKind() != hashchain.KindSeen || c.GetSeq() <= 0 {
			return nil, errcode.New(errcode.Invalid, "checkpoints: the one of kind %.20q and number %d was not issued by this hub; use checkpoints that axle audit checkpoint wrote", c.GetKind(), c.GetSeq())
		}
		elsewhere = append(elsewhere, hashchain.Checkpoint{
			Kind: c.GetKind(), Sequence: c.GetSeq(), Hash: c.GetHash(), At: c.GetAt(), Newest: c.GetNewest(), KeyID: c.GetKeyId(), Signature: c.GetSignature(),
		})
	}
	v, err := s.Log.Verify(ctx, hashchain.End{Sequence: r.Msg.GetSeq(), Hash: r.Msg.GetHash()}, elsewhere...)
	if err != nil {
		return nil, err
	}
	out := &hubv1.VerifyAuditResponse{
		Seq: v.End.Sequence, Hash: v.End.Hash, Done: v.Done, From: v.From, Records: int64(v.Rows), Checkpoints: int64(v.Checkpoints),
	}
	if v.Broken != nil {
		out.Broken, out.Reason = v.Broken.Sequence, v.Broken.Reason
	}
	return connect.NewResponse(out), nil
}

// Checkpoints implements hubv1connect.AuditHandler.
func (s *API) Checkpoints(ctx context.Context, _ *connect.Request[hubv1.ListAuditCheckpointsRequest]) (*connect.Response[hubv1.ListAuditCheckpointsResponse], error) {
	all, keys, err := audit.Reader{Log: s.Log}.Issued(ctx)
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListAuditCheckpointsResponse{Keys: map[string]string{}}
	for id, key := range keys {
		out.Keys[id] = hex.EncodeToString(key)
	}
	for _, c := range all {
		out.Checkpoints = append(out.Checkpoints, checkpoint(c))
	}
	return connect.NewResponse(out), nil
}

// Checkpoint implements hubv1connect.AuditHandler.
func (s *API) Checkpoint(ctx context.Context, _ *connect.Request[hubv1.MakeAuditCheckpointRequest]) (*connect.Response[hubv1.MakeAuditCheckpointResponse], error) {
	c, err := s.Log.Seal(ctx)
	if err != nil {
		return nil, err
	}
	if c.Sequence == 0 {
		return nil, errcode.New(errcode.NotFound, "the audit log has no record yet")
	}
	return connect.NewResponse(&hubv1.MakeAuditCheckpointResponse{Checkpoint: checkpoint(c)}), nil
}

func checkpoint(c hashchain.Checkpoint) *hubv1.AuditCheckpoint {
	return &hubv1.AuditCheckpoint{Kind: c.Kind, Seq: c.Sequence, Hash: c.Hash, At: c.At, Newest: c.Newest, KeyId: c.KeyID, Signature: c.Signature}
}
