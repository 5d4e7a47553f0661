package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/hashchain"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/lifecycle"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// checkpointPause is the time between two checkpoints, ± a fifth.
	checkpointPause = 4 * time.Minute
	// retentionPause is the time between two checks for old rows, ± a fifth.
	retentionPause = 15 * time.Minute
	// cutSize is how many rows one cut drops.
	cutSize = 5000
)

// Run signs checkpoints, counts refused requests and drops old rows until the context ends. Records are
// accepted without it. At its end it makes one more checkpoint.
func (l *Log) Run(ctx context.Context) error {
	return lifecycle.Run(ctx,
		lifecycle.Part{Name: "checkpoints", Run: l.checkpoints},
		lifecycle.Part{Name: "counts", Run: func(ctx context.Context) error {
			return l.every(ctx, countPause, "refused requests were not counted", l.count)
		}},
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
		l.config.Log.Warn("the audit log's last checkpoint was not made", logkey.Error, cerr)
	}
	return err
}

func (l *Log) every(ctx context.Context, pause time.Duration, problem string, do func(context.Context) error) error {
	for {
		if err := do(ctx); err != nil && ctx.Err() == nil {
			l.config.Log.Warn(problem, logkey.Error, err)
		}
		select {
		case <-l.config.Clock.After(jitter.Around(pause, pause/5)):
		case <-ctx.Done():
			return nil
		}
	}
}

// Checkpoint signs the current end of the chain unless it is already signed,
// writes it to the hub's log, and stores it in this replica's file: an attacker
// who can write only to the database can change neither. A chain that does not
// continue from where it was last seen is not signed, and the last seen state
// is kept.
func (l *Log) Checkpoint(ctx context.Context) error {
	_, err := l.Seal(ctx)
	return err
}

// Seal does the same as Checkpoint and returns the checkpoint of the current
// end, to be stored where nobody who can change the database can write.
// Conflict when there is no record yet, or when the chain was changed since it
// was last seen.
func (l *Log) Seal(ctx context.Context) (hashchain.Checkpoint, error) {
	l.sealing.Lock()
	defer l.sealing.Unlock()
	// The last seen state is read before the end, which may only grow.
	last := l.written()
	kept, err := l.kept()
	if err != nil {
		return kept, err
	}
	points, err := l.points(ctx)
	if err != nil {
		return kept, err
	}
	end, err := l.config.Chain.AuditEnd(ctx)
	if err != nil {
		return kept, err
	}
	from, err := points.lastSeen(kept)
	if err == nil && end.Sequence == 0 && from.Sequence == 0 && last.Sequence == 0 {
		return from, nil
	}
	w := &walk{chain: l.config.Chain, end: from.End(), newest: from.Newest}
	if last.Sequence > 0 {
		w.marks = append(w.marks, hashchain.Checkpoint{Kind: hashchain.KindSeen, Sequence: last.Sequence, Hash: last.Hash})
	}
	if err == nil {
		err = w.reach(ctx, end)
	}
	if err != nil {
		return from, l.broken(ctx, err, points.cut())
	}
	if from.End() == end && from.Kind == hashchain.KindSeen {
		if kept.Sequence == from.Sequence {
			return from, nil
		}
		return from, l.keep(from)
	}
	c, err := l.sign(ctx, hashchain.KindSeen, end, w.newest)
	if err != nil {
		return c, err
	}
	if err := l.config.Checkpoints.PutAuditCheckpoint(ctx, c); err != nil {
		return c, err
	}
	l.config.Log.Info("audit checkpoint", "sequence", c.Sequence, "hash", c.Hash, "at", c.At, "newest", c.Newest, "key", c.KeyID, "signature", fmt.Sprintf("%x", c.Signature))
	return c, l.keep(c)
}

// reach walks to the end that the chain's head has.
func (w *walk) reach(ctx context.Context, end hashchain.End) error {
	seen := append([]hashchain.Checkpoint{{Sequence: w.end.Sequence, Hash: w.end.Hash}}, w.marks...)
	if err := w.to(ctx, end.Sequence, pageSize, func(hashchain.End, int64) {}); err != nil {
		return err
	}
	for _, c := range seen {
		if err := c.Reach(end); err != nil {
			return err
		}
	}
	if w.end != end {
		return &hashchain.Broken{Sequence: end.Sequence, Reason: "the chain's head has another hash for it"}
	}
	return nil
}

// broken logs an error that needs investigation, unless another replica has
// dropped old rows since the known cut.
func (l *Log) broken(ctx context.Context, err error, cut hashchain.Checkpoint) error {
	var broken *hashchain.Broken
	if !errors.As(err, &broken) {
		return err
	}
	if now, perr := l.points(ctx); perr != nil || now.cut().Sequence != cut.Sequence {
		return errcode.Hide(errcode.Unavailable, err, "old audit records were dropped meanwhile; try again").After(time.Second)
	}
	l.config.Log.Error("the audit log was changed in the database: no checkpoint is signed and nothing old is dropped; run axle audit verify", "sequence", broken.Sequence, logkey.Reason, broken.Reason)
	return errcode.Hide(errcode.Conflict, err, "the audit log was changed at record %d: %s; no checkpoint is signed for it", broken.Sequence, broken.Reason)
}

func (l *Log) sign(ctx context.Context, kind string, end hashchain.End, newest int64) (hashchain.Checkpoint, error) {
	c := hashchain.Checkpoint{Kind: kind, Sequence: end.Sequence, Hash: end.Hash, At: clock.Micros(l.config.Clock.Now()), Newest: newest}
	var err error
	if c.KeyID, c.Signature, err = l.config.Signer.SignCheckpoint(ctx, c.Payload()); err != nil {
		return c, fmt.Errorf("sign an audit checkpoint: %w", err)
	}
	return c, nil
}

// Prune drops the rows that are older than the retention: those up to a
// checkpoint that is as old, and whose own records say so. The rest can be
// verified from the checkpoint at the cut on. It does nothing while the chain
// is broken.
func (l *Log) Prune(ctx context.Context) error {
	before := clock.Micros(l.config.Clock.Now().Add(-l.config.Retention))
	points, err := l.points(ctx)
	if err != nil {
		return err
	}
	last := points.cut()
	w := &walk{chain: l.config.Chain, end: last.End(), newest: last.Newest}
	for _, c := range points.all {
		if c.Kind != hashchain.KindSeen || c.Sequence <= w.end.Sequence || c.At >= before || !points.signed(c) {
			continue
		}
		if done, err := l.cut(ctx, w, c, before); err != nil || done {
			return l.broken(ctx, err, last)
		}
		last.Sequence = c.Sequence
	}
	return nil
}

// cut drops the rows up to a checkpoint that is old enough, in batches; done
// means that a record among them is too young.
func (l *Log) cut(ctx context.Context, w *walk, old hashchain.Checkpoint, before int64) (done bool, err error) {
	type place struct {
		end    hashchain.End
		newest int64
	}
	var places []place
	w.marks = []hashchain.Checkpoint{old}
	err = w.to(ctx, old.Sequence, cutSize, func(end hashchain.End, newest int64) { places = append(places, place{end, newest}) })
	if err != nil {
		return false, err
	}
	for _, p := range places {
		if p.newest >= before {
			return true, nil
		}
		c, err := l.sign(ctx, hashchain.KindCut, p.end, p.newest)
		if err != nil {
			return false, err
		}
		if err := l.config.Checkpoints.CutAudit(ctx, c); err != nil {
			return false, err
		}
	}
	return false, nil
}
