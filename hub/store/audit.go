package store

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/hashchain"
)

var _ audit.Store = (*Store)(nil)

const (
	// auditInsert is how many rows one statement adds.
	auditInsert = 50
	// auditColumns is how many values a row has.
	auditColumns = 11
)

// AppendAudit implements audit.Store.
func (s *Store) AppendAudit(ctx context.Context, extend func(end hashchain.End) ([]audit.Row, error)) error {
	if transaction(ctx) != nil {
		return errcode.New(errcode.Internal, "audit records were written inside another transaction")
	}
	var end hashchain.End
	err := s.Write(ctx, func(ctx context.Context) error {
		if s.dialect.name == "sqlite" {
			// For each statement of a cancelable context the driver starts a
			// goroutine, which costs more than the statement.
			ctx = context.WithoutCancel(ctx)
		}
		if err := s.lockAudit(ctx); err != nil {
			return err
		}
		rows, err := s.advanceAudit(ctx, extend)
		if err != nil || len(rows) == 0 {
			return err
		}
		for part := range slices.Chunk(rows, auditInsert) {
			if err := s.insertAudit(ctx, part); err != nil {
				return err
			}
		}
		end = rows[len(rows)-1].End()
		return nil
	})
	if err == nil && end.Sequence > 0 {
		s.auditEnd.Store(&end)
	}
	return err
}

// advanceAudit moves the head past the rows that it returns. When this replica
// was the last writer, it knows the head, and the statement that moves it
// verifies that; otherwise the head is read first.
func (s *Store) advanceAudit(ctx context.Context, extend func(end hashchain.End) ([]audit.Row, error)) ([]audit.Row, error) {
	if known := s.auditEnd.Load(); known != nil {
		if rows, moved, err := s.moveAudit(ctx, *known, extend); err != nil || moved {
			return rows, err
		}
	}
	end, err := s.AuditEnd(ctx)
	if err != nil {
		return nil, err
	}
	rows, moved, err := s.moveAudit(ctx, end, extend)
	if err == nil && !moved {
		err = errcode.New(errcode.Internal, "the head of the audit log changed while it was locked")
	}
	return rows, err
}

// moveAudit moves the head from one end, unless it is somewhere else.
func (s *Store) moveAudit(ctx context.Context, from hashchain.End, extend func(end hashchain.End) ([]audit.Row, error)) (rows []audit.Row, moved bool, err error) {
	if rows, err = extend(from); err != nil || len(rows) == 0 {
		return nil, true, err
	}
	last := rows[len(rows)-1].End()
	moved, err = s.execOne(ctx, "UPDATE audit_head SET seq = $1, hash = $2 WHERE id = 1 AND seq = $3 AND hash = $4", last.Sequence, last.Hash, from.Sequence, from.Hash)
	return rows, moved, err
}

// lockAudit lets one replica at a time add rows. On Postgres a transaction
// takes its snapshot at its first query, and a table lock is not a query: a
// waiting transaction then sees what the previous one wrote. A row lock would
// make it start again.
func (s *Store) lockAudit(ctx context.Context) error {
	if s.dialect.name != "postgres" {
		return nil
	}
	_, err := s.exec(ctx, "LOCK TABLE audit_head IN EXCLUSIVE MODE")
	return err
}

func (s *Store) insertAudit(ctx context.Context, rows []audit.Row) error {
	args := make([]any, 0, auditColumns*len(rows))
	for _, r := range rows {
		args = append(args, r.Sequence, r.Columns.At, r.Columns.Actor, r.Columns.ClusterID, r.Columns.Action, r.Columns.Kind,
			r.Columns.Name, r.Columns.Result, string(r.Record), r.Previous, r.Hash)
	}
	_, err := s.exec(ctx, `INSERT INTO audit (seq, at, actor, cluster_id, action, kind, name, result, record, prev, hash)
		VALUES `+s.dialect.auditValues(len(rows)), args...)
	return err
}

// auditValues returns the placeholders for some rows. On SQLite they have no
// numbers: a number is a name there, and binding searches the names from the
// first on for each.
func (d dialect) auditValues(rows int) string {
	if d.name == "sqlite" {
		return strings.Repeat(", (?"+strings.Repeat(", ?", auditColumns-1)+")", rows)[len(", "):]
	}
	values := make([]string, rows)
	for i := range values {
		values[i] = "(" + placeholders(i*auditColumns+1, auditColumns) + ")"
	}
	return strings.Join(values, ", ")
}

// AuditEnd implements audit.Store.
func (s *Store) AuditEnd(ctx context.Context) (hashchain.End, error) {
	end, found, err := rowOf(ctx, s, func(row scan) (e hashchain.End, err error) {
		err = row(&e.Sequence, &e.Hash)
		return e, err
		// With the argument it is a statement that SQLite's connections keep
		// compiled.
	}, "SELECT seq, hash FROM audit_head WHERE id = $1", 1)
	if err == nil && !found {
		return end, errcode.New(errcode.Internal, "the head of the audit log is gone from the database; restore a backup")
	}
	return end, err
}

// AuditRows implements audit.Store.
func (s *Store) AuditRows(ctx context.Context, q audit.Query) ([]audit.Row, error) {
	if q.Limit <= 0 {
		q.Limit = 100
	}
	args := []any{min(q.Limit, 1000)}
	var where []string
	add := func(condition string, arg any) {
		args = append(args, arg)
		where = append(where, strings.ReplaceAll(condition, "?", placeholders(len(args), 1)))
	}
	add("seq > ?", q.After)
	for condition, n := range map[string]int64{"seq < ?": q.Before, "at >= ?": q.Since, "at < ?": q.Until} {
		if n != 0 {
			add(condition, n)
		}
	}
	for condition, text := range map[string]string{
		"actor = ?": q.Actor, "cluster_id = ?": q.ClusterID, "action = ?": q.Action, "result = ?": q.Result,
		"(kind = ? OR name = ? OR kind || '/' || name = ?)": q.Object,
	} {
		if text != "" {
			add(condition, text)
		}
	}
	order := "seq"
	if q.Newest {
		order = "seq DESC"
	}
	return rowsOf(ctx, s, auditRow, `SELECT seq, at, actor, cluster_id, action, kind, name, result, record, prev, hash FROM audit
		WHERE `+strings.Join(where, " AND ")+" ORDER BY "+order+" LIMIT $1", args...)
}

func auditRow(row scan) (r audit.Row, err error) {
	var record string
	c := &r.Columns
	err = row(&r.Sequence, &c.At, &c.Actor, &c.ClusterID, &c.Action, &c.Kind, &c.Name, &c.Result, &record, &r.Previous, &r.Hash)
	r.Record = json.RawMessage(record)
	return r, err
}

// AuditCheckpoints implements audit.Store.
func (s *Store) AuditCheckpoints(ctx context.Context) ([]hashchain.Checkpoint, error) {
	return rowsOf(ctx, s, func(row scan) (c hashchain.Checkpoint, err error) {
		var signature string
		if err := row(&c.Sequence, &c.Kind, &c.Hash, &c.At, &c.Newest, &c.KeyID, &signature); err != nil {
			return c, err
		}
		// The verifier finds a damaged signature.
		c.Signature, err = hex.DecodeString(signature)
		if err != nil {
			c.Signature = nil
		}
		return c, nil
	}, "SELECT seq, kind, hash, at, newest, key_id, signature FROM audit_checkpoints ORDER BY seq, kind")
}

// PutAuditCheckpoint implements audit.Store.
func (s *Store) PutAuditCheckpoint(ctx context.Context, c hashchain.Checkpoint) error {
	return s.Write(ctx, func(ctx context.Context) error { return s.insertCheckpoint(ctx, c) })
}

func (s *Store) insertCheckpoint(ctx context.Context, c hashchain.Checkpoint) error {
	_, err := s.exec(ctx, `INSERT INTO audit_checkpoints (seq, kind, hash, at, newest, key_id, signature) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT DO NOTHING`, c.Sequence, c.Kind, c.Hash, c.At, c.Newest, c.KeyID, hex.EncodeToString(c.Signature))
	return err
}

// CutAudit implements audit.Store.
func (s *Store) CutAudit(ctx context.Context, c hashchain.Checkpoint) error {
	return s.Write(ctx, func(ctx context.Context) error {
		further, found, err := rowOf(ctx, s, value[int64], "SELECT seq FROM audit_checkpoints WHERE kind = $1 AND seq >= $2", hashchain.KindCut, c.Sequence)
		if err != nil || found && further >= c.Sequence {
			return err
		}
		if _, err := s.exec(ctx, "DELETE FROM audit WHERE seq <= $1", c.Sequence); err != nil {
			return err
		}
		if _, err := s.exec(ctx, "DELETE FROM audit_checkpoints WHERE seq <= $1", c.Sequence); err != nil {
			return err
		}
		return s.insertCheckpoint(ctx, c)
	})
}

// AuditCursor implements audit.Store.
func (s *Store) AuditCursor(ctx context.Context, sink string) (int64, error) {
	n, _, err := rowOf(ctx, s, value[int64], "SELECT seq FROM audit_cursors WHERE sink = $1", sink)
	return n, err
}

// PutAuditCursor implements audit.Store.
func (s *Store) PutAuditCursor(ctx context.Context, sink string, sequence int64) error {
	return s.Write(ctx, func(ctx context.Context) error {
		_, err := s.exec(ctx, `INSERT INTO audit_cursors (sink, seq) VALUES ($1, $2)
			ON CONFLICT (sink) DO UPDATE SET seq = excluded.seq`, sink, sequence)
		return err
	})
}
