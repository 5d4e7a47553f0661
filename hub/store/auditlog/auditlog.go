// Package auditlog stores the audit log, its head and its checkpoints in the hub's
// database. hub/store embeds its Table; hub/event/audit makes the records and
// chains them.
//
// Invariants: one replica at a time adds records, in transactions that contain
// nothing else, and the head has the hash of the last record.
package auditlog

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/hub/store/sqldb"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/hashchain"
)

var (
	_ audit.Chain       = (*Table)(nil)
	_ audit.Checkpoints = (*Table)(nil)
	_ audit.Cursors     = (*Table)(nil)
)

// Table is the audit log. Its methods are safe for concurrent use.
type Table struct {
	db *sqldb.DB
	// end is the end of the audit log when this process last wrote to it.
	end atomic.Pointer[hashchain.End]
}

// New returns the audit log in a database.
func New(db *sqldb.DB) *Table { return &Table{db: db} }

// Queries are the queries that read each table, for tests.
var Queries = map[rows.Definition]string{auditTable: selectAudit, checkpointTable: selectCheckpoints}

// auditInsert is how many rows one statement adds.
const auditInsert = 50

var (
	auditTable = rows.Of("audit", func(c *rows.Columns, r *audit.Row) {
		rows.Col(c, "seq", &r.Sequence)
		rows.Text(c, "record", &r.Record)
		rows.Col(c, "prev", &r.Previous)
		rows.Fields(c, &r.Columns)
		rows.Fields(c, r)
	})
	selectAudit  = auditTable.Select()
	auditRow     = auditTable.All().Statement("INSERT INTO audit ({columns}) VALUES ")
	auditColumns = len(auditRow.Append(nil, &audit.Row{}))

	checkpointTable = rows.Of("audit_checkpoints", func(c *rows.Columns, v *hashchain.Checkpoint) {
		rows.Col(c, "seq", &v.Sequence)
		// The verifier finds a damaged signature.
		rows.LooseHex(c, "signature", &v.Signature)
		rows.Fields(c, v)
	})
	selectCheckpoints = checkpointTable.Select()
	insertCheckpoint  = checkpointTable.All().Insert("ON CONFLICT DO NOTHING")
)

// AppendAudit implements audit.Chain.
func (s *Table) AppendAudit(ctx context.Context, extend func(end hashchain.End) ([]audit.Row, error)) error {
	if sqldb.Transaction(ctx) != nil {
		return errcode.New(errcode.Internal, "audit records were written inside another transaction")
	}
	var end hashchain.End
	err := s.db.Write(ctx, func(ctx context.Context) error {
		if !s.db.Postgres() {
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
		s.end.Store(&end)
	}
	return err
}

// advanceAudit moves the head past the rows that it returns. When this replica
// was the last writer, it knows the head, and the statement that moves it
// verifies that; otherwise the head is read first.
func (s *Table) advanceAudit(ctx context.Context, extend func(end hashchain.End) ([]audit.Row, error)) ([]audit.Row, error) {
	if known := s.end.Load(); known != nil {
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
func (s *Table) moveAudit(ctx context.Context, from hashchain.End, extend func(end hashchain.End) ([]audit.Row, error)) (rows []audit.Row, moved bool, err error) {
	if rows, err = extend(from); err != nil || len(rows) == 0 {
		return nil, true, err
	}
	last := rows[len(rows)-1].End()
	moved, err = query.ExecOne(ctx, s.db, "UPDATE audit_head SET seq = $1, hash = $2 WHERE id = 1 AND seq = $3 AND hash = $4", last.Sequence, last.Hash, from.Sequence, from.Hash)
	return rows, moved, err
}

// lockAudit lets one replica at a time add rows. On Postgres a transaction
// takes its snapshot at its first query, and a table lock is not a query: a
// waiting transaction then sees what the previous one wrote. A row lock would
// make it start again.
func (s *Table) lockAudit(ctx context.Context) error {
	if !s.db.Postgres() {
		return nil
	}
	_, err := s.db.Exec(ctx, "LOCK TABLE audit_head IN EXCLUSIVE MODE")
	return err
}

func (s *Table) insertAudit(ctx context.Context, records []audit.Row) error {
	args := make([]any, 0, auditColumns*len(records))
	for i := range records {
		args = auditRow.Append(args, &records[i])
	}
	_, err := s.db.Exec(ctx, auditRow.Text()+s.auditValues(len(records)), args...)
	return err
}

// auditValues returns the placeholders for some rows. On SQLite they have no
// numbers: a number is a name there, and binding searches the names from the
// first on for each.
func (s *Table) auditValues(rows int) string {
	if !s.db.Postgres() {
		return strings.Repeat(", (?"+strings.Repeat(", ?", auditColumns-1)+")", rows)[len(", "):]
	}
	values := make([]string, rows)
	for i := range values {
		values[i] = "(" + query.Placeholders(i*auditColumns+1, auditColumns) + ")"
	}
	return strings.Join(values, ", ")
}

// AuditEnd implements audit.Chain.
func (s *Table) AuditEnd(ctx context.Context) (hashchain.End, error) {
	end, found, err := query.One(ctx, s.db, func(row query.Scan) (e hashchain.End, err error) {
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

// AuditRows implements audit.Chain.
func (s *Table) AuditRows(ctx context.Context, q audit.Query) ([]audit.Row, error) {
	if q.Limit <= 0 {
		q.Limit = 100
	}
	args := []any{min(q.Limit, 1000)}
	var where []string
	add := func(condition string, arg any) {
		args = append(args, arg)
		where = append(where, strings.ReplaceAll(condition, "?", query.Placeholders(len(args), 1)))
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
	return query.All(ctx, s.db, auditTable.Reader(), selectAudit+"WHERE "+strings.Join(where, " AND ")+" ORDER BY "+order+" LIMIT $1", args...)
}

// AuditCheckpoints implements audit.Checkpoints.
func (s *Table) AuditCheckpoints(ctx context.Context) ([]hashchain.Checkpoint, error) {
	return query.All(ctx, s.db, checkpointTable.Reader(), selectCheckpoints+"ORDER BY seq, kind")
}

// PutAuditCheckpoint implements audit.Checkpoints.
func (s *Table) PutAuditCheckpoint(ctx context.Context, c hashchain.Checkpoint) error {
	return s.db.Write(ctx, func(ctx context.Context) error { return s.addCheckpoint(ctx, c) })
}

func (s *Table) addCheckpoint(ctx context.Context, c hashchain.Checkpoint) error {
	_, err := insertCheckpoint.ExecOne(ctx, s.db, &c)
	return err
}

// CutAudit implements audit.Checkpoints.
func (s *Table) CutAudit(ctx context.Context, c hashchain.Checkpoint) error {
	return s.db.Write(ctx, func(ctx context.Context) error {
		further, found, err := query.One(ctx, s.db, query.Value[int64], "SELECT seq FROM audit_checkpoints WHERE kind = $1 AND seq >= $2", hashchain.KindCut, c.Sequence)
		if err != nil || found && further >= c.Sequence {
			return err
		}
		if _, err := s.db.Exec(ctx, "DELETE FROM audit WHERE seq <= $1", c.Sequence); err != nil {
			return err
		}
		if _, err := s.db.Exec(ctx, "DELETE FROM audit_checkpoints WHERE seq <= $1", c.Sequence); err != nil {
			return err
		}
		return s.addCheckpoint(ctx, c)
	})
}

// AuditCursor implements audit.Cursors.
func (s *Table) AuditCursor(ctx context.Context, sink string) (int64, error) {
	n, _, err := query.One(ctx, s.db, query.Value[int64], "SELECT seq FROM audit_cursors WHERE sink = $1", sink)
	return n, err
}

// PutAuditCursor implements audit.Cursors.
func (s *Table) PutAuditCursor(ctx context.Context, sink string, sequence int64) error {
	return s.db.Write(ctx, func(ctx context.Context) error {
		_, err := s.db.Exec(ctx, `INSERT INTO audit_cursors (sink, seq) VALUES ($1, $2)
			ON CONFLICT (sink) DO UPDATE SET seq = excluded.seq`, sink, sequence)
		return err
	})
}
