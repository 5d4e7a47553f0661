package audit

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"slices"

	"github.com/axle-cd/axle/internal/hashchain"
)

// walk follows the chain in the database, row by row. It accepts only rows that
// continue what was verified before: otherwise an attacker with write access to
// the database could have the hub sign them.
type walk struct {
	chain Chain
	end   hashchain.End
	// newest is the time of the newest record so far, from the records
	// themselves: the column beside them is not hashed.
	newest int64
	// marks are the required hashes of some lines.
	marks []hashchain.Checkpoint
}

// step adds one row, or returns a *hashchain.Broken.
func (w *walk) step(row Row) error {
	end, err := w.end.Follow(row.Line)
	if err != nil {
		return err
	}
	record, err := row.Open()
	if err != nil || record.columns() != row.Columns {
		return &hashchain.Broken{Sequence: row.Sequence, Reason: "its columns differ from its record"}
	}
	for _, c := range w.marks {
		if err := c.Match(row.Line); err != nil {
			return err
		}
	}
	w.end, w.newest = end, max(w.newest, record.At)
	return nil
}

// to walks up to a row, which must exist, and calls each after every size rows
// and after the last one.
func (w *walk) to(ctx context.Context, target int64, size int, each func(end hashchain.End, newest int64)) error {
	for n := 1; w.end.Sequence < target; {
		rows, err := w.chain.AuditRows(ctx, Query{After: w.end.Sequence, Before: target + 1, Limit: pageSize})
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return missing(w.end, target)
		}
		for _, row := range rows {
			if err := w.step(row); err != nil {
				return err
			}
			if n++; n > size || row.Sequence == target {
				each(w.end, w.newest)
				n = 1
			}
		}
	}
	return nil
}

func missing(end hashchain.End, target int64) error {
	return &hashchain.Broken{Sequence: end.Sequence + 1, Reason: fmt.Sprintf("the end is missing: the chain's head records %d lines", target)}
}

// points are the checkpoints in the database, in order. Only those with a
// verified signature count, and signatures are verified on use: of thousands,
// few are used.
type points struct {
	all  []hashchain.Checkpoint
	keys map[string]ed25519.PublicKey
}

func (l *Log) points(ctx context.Context) (p points, err error) {
	if p.all, err = l.config.Checkpoints.AuditCheckpoints(ctx); err != nil {
		return p, err
	}
	p.keys, err = l.config.Signer.CheckpointKeys(ctx)
	return p, err
}

func (p points) signed(c hashchain.Checkpoint) bool { return c.Check(p.keys[c.KeyID]) == nil }

// newest is the last checkpoint that the hub signed, of a kind or, when that is
// empty, of any; zero when there is none.
func (p points) newest(kind string) hashchain.Checkpoint {
	for _, c := range slices.Backward(p.all) {
		if (kind == "" || c.Kind == kind) && p.signed(c) {
			return c
		}
	}
	return hashchain.Checkpoint{}
}

// cut is the last row that retention dropped.
func (p points) cut() hashchain.Checkpoint { return p.newest(hashchain.KindCut) }

// lastSeen returns the last line that a replica knows to belong to the chain:
// from its file, otherwise from what the hub has signed. Only retention may
// lead beyond its file.
func (p points) lastSeen(kept hashchain.Checkpoint) (hashchain.Checkpoint, error) {
	from, cut := kept, p.cut()
	if kept.Sequence == 0 {
		from = p.newest("")
	}
	if cut.Sequence > from.Sequence {
		from = cut
	}
	return from, cut.Covers(kept)
}
