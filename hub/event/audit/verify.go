package audit

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/hashchain"
)

// pageSize is how many rows one step reads.
const pageSize = 1000

// verifySize is how many rows one call of Verify checks.
const verifySize = 20 * pageSize

// Verified is the result of one call of Verify.
type Verified struct {
	// From is where it began, End where it stopped.
	From int64
	End  hashchain.End
	// Rows is the number of checked rows.
	Rows int
	// Done is set when the end of the chain was reached and everything is
	// correct.
	Done bool
	// Broken is the first error, nil when there is none.
	Broken *hashchain.Broken
	// Checkpoints is the number of checked ones; Unsigned of those whose key is
	// no longer known.
	Checkpoints, Unsigned int
}

// Verify checks the chain after a row that an earlier call checked, 0 for its
// beginning: rows, their columns, checkpoints, the end, this replica's own
// record of it, and the checkpoints that the caller stored elsewhere. It checks
// at most 20,000 rows; call again from End.
func (l *Log) Verify(ctx context.Context, after hashchain.End, elsewhere ...hashchain.Checkpoint) (Verified, error) {
	for {
		v, err := l.newVerification(ctx, after, elsewhere)
		if err != nil {
			return Verified{}, err
		}
		err = v.run(ctx)
		if !errors.As(err, &v.Broken) {
			return v.Verified, err
		}
		// Retention may have dropped the rows that come next.
		again, err := l.newVerification(ctx, after, elsewhere)
		if err != nil || again.cut() == v.cut() {
			return v.Verified, err
		}
	}
}

type verification struct {
	Verified
	log *Log
	// target is the chain's end when the verification began: rows that come
	// later are for the next one.
	target hashchain.End
	keys   map[string]ed25519.PublicKey
	// points are the checkpoints by their sequence.
	points map[int64][]hashchain.Checkpoint
	all    []hashchain.Checkpoint
	// elsewhere are the caller's checkpoints: their signers must be known.
	elsewhere []hashchain.Checkpoint
}

func (l *Log) newVerification(ctx context.Context, after hashchain.End, elsewhere []hashchain.Checkpoint) (*verification, error) {
	// The end is read before the checkpoints, and these before the rows, so
	// that what comes meanwhile is never missing. What this replica has seen is
	// read first.
	kept, err := l.kept()
	if err != nil {
		return nil, err
	}
	v := &verification{log: l, points: map[int64][]hashchain.Checkpoint{}, elsewhere: elsewhere}
	last := l.written()
	v.From, v.End = after.Sequence, after
	if v.all, err = l.config.Checkpoints.AuditCheckpoints(ctx); err != nil {
		return nil, err
	}
	if v.target, err = l.config.Chain.AuditEnd(ctx); err != nil {
		return nil, err
	}
	if kept.Sequence > 0 {
		v.all = append(v.all, kept)
	}
	if last.Sequence > 0 {
		v.all = append(v.all, hashchain.Checkpoint{Kind: hashchain.KindSeen, Sequence: last.Sequence, Hash: last.Hash})
	}
	v.all = append(v.all, elsewhere...)
	for _, c := range v.all {
		v.points[c.Sequence] = append(v.points[c.Sequence], c)
	}
	v.keys, err = l.config.Signer.CheckpointKeys(ctx)
	return v, err
}

func (v *verification) run(ctx context.Context) error {
	if err := v.begin(); err != nil {
		return err
	}
	for v.Rows < verifySize && v.End.Sequence < v.target.Sequence {
		rows, err := v.log.config.Chain.AuditRows(ctx, Query{After: v.End.Sequence, Limit: pageSize})
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return missing(v.End, v.target.Sequence)
		}
		for _, row := range rows {
			if err := v.row(row); err != nil {
				return err
			}
			if row.Sequence == v.target.Sequence {
				break
			}
		}
	}
	if v.End.Sequence < v.target.Sequence {
		return nil
	}
	return v.finish(ctx)
}

// cut is the last row that retention dropped.
func (v *verification) cut() (sequence int64) {
	for _, c := range v.all {
		if c.Kind == hashchain.KindCut {
			sequence = max(sequence, c.Sequence)
		}
	}
	return sequence
}

// begin takes the newest cut as the chain's beginning. It must not have dropped
// rows that were too young, nor other rows than were seen.
func (v *verification) begin() error {
	for _, c := range v.elsewhere {
		if err := c.Check(v.keys[c.KeyID]); err != nil {
			return err
		}
	}
	for _, c := range v.all {
		if c.Kind == hashchain.KindCut && c.Sequence > v.End.Sequence {
			if err := v.signed(c); err != nil {
				return err
			}
			if err := c.Allow(v.log.config.Retention.Microseconds()); err != nil {
				return err
			}
			for _, seen := range v.all {
				if err := c.Covers(seen); err != nil {
					return err
				}
			}
			v.From, v.End = c.Sequence, c.End()
		}
	}
	return nil
}

func (v *verification) row(row Row) error {
	w := walk{end: v.End, marks: v.points[row.Sequence]}
	if err := w.step(row); err != nil {
		return err
	}
	for _, c := range w.marks {
		if err := v.signed(c); err != nil {
			return err
		}
	}
	v.End = w.end
	v.Rows++
	return nil
}

func (v *verification) signed(c hashchain.Checkpoint) error {
	if c.KeyID == "" {
		return nil // what this process wrote needs no signature
	}
	v.Checkpoints++
	key, known := v.keys[c.KeyID]
	if !known {
		v.Unsigned++
		if c.Kind == hashchain.KindCut {
			return &hashchain.Broken{Sequence: c.Sequence, Reason: "the cut before it is signed by a key that the hub does not know: " + c.KeyID}
		}
		return nil
	}
	return c.Check(key)
}

// finish compares the end with the head and with every checkpoint.
func (v *verification) finish(ctx context.Context) error {
	if v.End.Sequence == v.target.Sequence && v.End.Hash != v.target.Hash {
		return &hashchain.Broken{Sequence: v.End.Sequence, Reason: "the chain's head has another hash for it"}
	}
	for _, c := range v.all {
		if err := c.Reach(v.End); err != nil {
			return err
		}
	}
	if v.End.Sequence > v.target.Sequence {
		return v.beyond(ctx)
	}
	beyond, err := v.log.config.Chain.AuditRows(ctx, Query{After: v.End.Sequence, Limit: 1})
	if err != nil {
		return err
	}
	if len(beyond) > 0 {
		// It was made after the end was read, or the head was set back.
		return v.beyond(ctx)
	}
	v.Done = true
	return nil
}

// beyond reads the head again when there are rows after it.
func (v *verification) beyond(ctx context.Context) error {
	end, err := v.log.config.Chain.AuditEnd(ctx)
	if err != nil {
		return err
	}
	if end.Sequence <= v.target.Sequence {
		return &hashchain.Broken{Sequence: v.target.Sequence + 1, Reason: "it is after the end that the chain's head has"}
	}
	v.Done = true
	return nil
}

// kept reads this replica's own record of the chain; zero when it has none.
func (l *Log) kept() (c hashchain.Checkpoint, err error) {
	if l.config.Kept == "" {
		return c, nil
	}
	text, err := os.ReadFile(l.config.Kept)
	if errors.Is(err, os.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("read the last audit checkpoint: %w", err)
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, errcode.New(errcode.Internal, "%s holds no audit checkpoint; remove it after audit verify succeeded on another replica", l.config.Kept)
	}
	return c, nil
}

func (l *Log) keep(c hashchain.Checkpoint) error {
	if l.config.Kept == "" {
		return nil
	}
	text, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode an audit checkpoint: %w", err)
	}
	return atomicfile.Write(l.config.Kept, append(text, '\n'), 0o600)
}
