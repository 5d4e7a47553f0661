package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/hashchain"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/lifecycle"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// checkpointPause is the time between two checkpoints, ± a fifth.
	checkpointPause = 4 * time.Minute
	// retentionPause is the time between two looks for old rows, ± a fifth.
	retentionPause = 15 * time.Minute
	// cutSize is how many rows one cut drops.
	cutSize = 5000
)

// Run signs checkpoints and drops old rows until the context ends. Records are
// taken without it. At its end it makes one more checkpoint.
func (l *Log) Run(ctx context.Context) error {
	return lifecycle.Run(ctx,
		lifecycle.Part{Name: "checkpoints", Run: l.checkpoints},
		lifecycle.Part{Name: "retention", Run: func(ctx context.Context) error {
			return l.every(ctx, retentionPause, "old audit records were not dropped; trying again later", l.Prune)
		}},
	)
}

func (l *Log) checkpoints(ctx context.Context) error {
	look := func(ctx context.Context) error { return l.Checkpoint(ctx) }
	err := l.every(ctx, checkpointPause, "the audit log's checkpoint was not made; trying again later", look)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	if cerr := l.Checkpoint(last); cerr != nil {
		l.Log.Warn("the audit log's last checkpoint was not made", logkey.Error, cerr)
	}
	return err
}

func (l *Log) every(ctx context.Context, pause time.Duration, problem string, do func(context.Context) error) error {
	for {
		if err := do(ctx); err != nil && ctx.Err() == nil {
			l.Log.Warn(problem, logkey.Error, err)
		}
		select {
		case <-l.Clock.After(jitter.Around(pause, pause/5)):
		case <-ctx.Done():
			return nil
		}
	}
}

// Checkpoint signs the present end unless that is signed already, says it in
// the hub's log, and keeps it in this replica's file: whoever can write to the
// database can write to neither.
func (l *Log) Checkpoint(ctx context.Context) error {
	end, err := l.Store.AuditEnd(ctx)
	if err != nil || end.Sequence == 0 {
		return err
	}
	kept, err := l.kept()
	if err != nil {
		return err
	}
	if kept.Sequence >= end.Sequence {
		// It was made already, or rows are gone, which Verify says. What was
		// seen is not forgotten for it.
		return nil
	}
	all, err := l.Store.AuditCheckpoints(ctx)
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.End() == end {
			return l.keep(c)
		}
	}
	c, err := l.sign(ctx, hashchain.KindSeen, end)
	if err != nil {
		return err
	}
	if err := l.Store.PutAuditCheckpoint(ctx, c); err != nil {
		return err
	}
	l.Log.Info("audit checkpoint", "sequence", c.Sequence, "hash", c.Hash, "key", c.KeyID, "signature", fmt.Sprintf("%x", c.Signature))
	return l.keep(c)
}

func (l *Log) sign(ctx context.Context, kind string, end hashchain.End) (hashchain.Checkpoint, error) {
	c := hashchain.Checkpoint{Kind: kind, Sequence: end.Sequence, Hash: end.Hash, At: clock.Micros(l.Clock.Now())}
	var err error
	if c.KeyID, c.Signature, err = l.Signer.SignCheckpoint(ctx, c.Payload()); err != nil {
		return c, fmt.Errorf("sign an audit checkpoint: %w", err)
	}
	return c, nil
}

// Prune drops the rows that are older than the retention. What is left can be
// verified from the checkpoint at the cut on.
func (l *Log) Prune(ctx context.Context) error {
	before := clock.Micros(l.Clock.Now().Add(-l.Retention))
	for {
		cut, more, err := l.oldest(ctx, before)
		if err != nil || cut.Sequence == 0 {
			return err
		}
		c, err := l.sign(ctx, hashchain.KindCut, cut)
		if err != nil {
			return err
		}
		if err := l.Store.CutAudit(ctx, c); err != nil {
			return err
		}
		if !more {
			return nil
		}
	}
}

// oldest returns the last of the rows at the chain's beginning that are older
// than a time, at most cutSize of them.
func (l *Log) oldest(ctx context.Context, before int64) (cut hashchain.End, more bool, err error) {
	for n := 0; n < cutSize; {
		rows, err := l.Store.AuditRows(ctx, Query{After: cut.Sequence, Limit: pageSize})
		if err != nil {
			return cut, false, err
		}
		for _, row := range rows {
			if row.Columns.At >= before {
				return cut, false, nil
			}
			cut = row.End()
		}
		if n += len(rows); len(rows) < pageSize {
			return cut, false, nil
		}
	}
	return cut, true, nil
}
