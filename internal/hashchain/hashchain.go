// Package hashchain is the format of a log that shows tampering: each line carries a
// SHA-256 over its record and the hash of the line before, and signed checkpoints say
// how far the chain went.
//
// It does not interpret the records, and stores and signs nothing. The hub's audit
// log writes with it, and the hub and the command line verify with it, so that both
// judge a chain alike.
//
// Invariants: sequence numbers count by one; a line's hash depends on every line
// before it; a chain begins with line 1, or after a checkpoint of kind "cut", which
// says what retention dropped.
package hashchain

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// The kinds of checkpoints. Cut says that the lines up to it were dropped.
const (
	KindSeen = "seen"
	KindCut  = "cut"
)

// Line is one record in the chain.
type Line struct {
	Sequence int64 `json:"seq"`
	// Previous is the hash of the line before, in hex; empty for the first line.
	Previous string `json:"prev"`
	Hash     string `json:"hash"`
	// Record is JSON, hashed without whitespace between its parts.
	Record json.RawMessage `json:"record"`
}

// Sum is the hash of a line, in hex.
func Sum(sequence int64, previous string, record []byte) string {
	h := sha256.New()
	h.Write([]byte("axle-audit\n" + previous + "\n" + strconv.FormatInt(sequence, 10) + "\n"))
	h.Write(record)
	return hex.EncodeToString(h.Sum(nil))
}

// Next returns the line that follows the end of a chain.
func Next(end End, record []byte) Line {
	sequence := end.Sequence + 1
	return Line{Sequence: sequence, Previous: end.Hash, Hash: Sum(sequence, end.Hash, record), Record: record}
}

// End is the end of a chain.
type End struct {
	Sequence int64
	Hash     string
}

// End is the end of a chain whose last line is l.
func (l Line) End() End { return End{l.Sequence, l.Hash} }

// Broken says where a chain is broken.
type Broken struct {
	// Sequence is the first invalid line.
	Sequence int64
	Reason   string
}

// Error implements error.
func (b *Broken) Error() string {
	return fmt.Sprintf("the chain is broken at line %d: %s", b.Sequence, b.Reason)
}

func broken(sequence int64, format string, args ...any) error {
	return &Broken{sequence, fmt.Sprintf(format, args...)}
}

// Follow returns the end of a chain after one more line, or a *Broken.
func (e End) Follow(l Line) (End, error) {
	want := e.Sequence + 1
	switch {
	case l.Sequence > want:
		return e, broken(want, "it is missing; the next one is line %d", l.Sequence)
	case l.Sequence < want:
		return e, broken(l.Sequence, "it appears after line %d", e.Sequence)
	case l.Previous != e.Hash:
		return e, broken(want, "it does not follow the line before: one of the two was exchanged")
	}
	record, err := compact(l.Record)
	if err != nil {
		return e, broken(want, "its record is not JSON")
	}
	if Sum(l.Sequence, l.Previous, record) != l.Hash {
		return e, broken(want, "its record was changed")
	}
	return l.End(), nil
}

func compact(record []byte) ([]byte, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, record); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Checkpoint is the signed end of a chain at a time.
type Checkpoint struct {
	Kind     string `json:"kind"`
	Sequence int64  `json:"seq"`
	Hash     string `json:"hash"`
	// At is when it was signed, and Newest when the newest record up to the line was
	// made, according to the records: microseconds since 1970 UTC. Newest is zero in
	// checkpoints of older hubs.
	At     int64 `json:"at"`
	Newest int64 `json:"newest,omitempty"`
	// KeyID and Signature are of the hub's signing key.
	KeyID     string `json:"key_id"`
	Signature []byte `json:"signature"`
}

// Payload is the signed content.
func (c Checkpoint) Payload() []byte {
	text := "axle-audit-checkpoint\n" + c.Kind + "\n" + strconv.FormatInt(c.Sequence, 10) + "\n" + c.Hash + "\n" + strconv.FormatInt(c.At, 10) + "\n"
	if c.Newest != 0 {
		text += strconv.FormatInt(c.Newest, 10) + "\n"
	}
	return []byte(text)
}

// End is the end of the chain at the checkpoint.
func (c Checkpoint) End() End { return End{c.Sequence, c.Hash} }

// Check returns nil if the key signed the checkpoint, otherwise a *Broken.
func (c Checkpoint) Check(key ed25519.PublicKey) error {
	if len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, c.Payload(), c.Signature) {
		return broken(c.Sequence, "the signature of its checkpoint is not by the hub's key %s", c.KeyID)
	}
	return nil
}

// Allow returns a *Broken if a cut dropped lines that were younger than the
// retention, in microseconds.
func (c Checkpoint) Allow(retention int64) error {
	if c.Kind == KindCut && c.Newest != 0 && c.At-c.Newest < retention {
		return broken(c.Sequence, "it was dropped %s after it was made, which is too early; or the retention was raised since", time.Duration(c.At-c.Newest)*time.Microsecond)
	}
	return nil
}

// Covers returns a *Broken if a cut cannot have dropped the line of a checkpoint: the
// checkpoint is older than the dropped lines, or has another hash for the same line.
func (c Checkpoint) Covers(seen Checkpoint) error {
	switch {
	case c.Kind != KindCut || seen.Sequence > c.Sequence:
	case seen.Sequence == c.Sequence && seen.Hash != c.Hash, c.Newest != 0 && seen.Newest > c.Newest:
		return broken(seen.Sequence, "the cut after it dropped lines other than those that the checkpoint of key %s covers", seen.KeyID)
	}
	return nil
}

// Match returns a *Broken if the line at a checkpoint differs from the one that was
// signed.
func (c Checkpoint) Match(l Line) error {
	switch {
	case l.Sequence != c.Sequence || l.Hash == c.Hash:
		return nil
	case c.KeyID == "":
		return broken(l.Sequence, "it, or a line before, is not the one that this replica wrote")
	}
	return broken(l.Sequence, "it, or a line before, is not the one that the checkpoint of key %s saw", c.KeyID)
}

// Reach returns a *Broken if a chain ends before a checkpoint.
func (c Checkpoint) Reach(end End) error {
	if end.Sequence < c.Sequence {
		return broken(end.Sequence+1, "the end is missing: a checkpoint saw line %d; lines were deleted, or the database is an older backup", c.Sequence)
	}
	return nil
}
