// Package hashchain is the form of a log that shows when somebody changed it:
// each line carries a SHA-256 over its record and over the hash of the line
// before, and a signed checkpoint now and then says how far the chain went.
//
// It knows nothing of what the records say, and stores and signs nothing: the
// hub's audit log writes with it, and the hub and the command line check with
// it, so that both judge a chain alike.
//
// Invariants: sequences count by one; a line's hash depends on every line
// before it; a chain begins with line 1, or after a checkpoint of the kind
// "cut", which says what retention dropped.
package hashchain

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
)

// The kinds of checkpoints. Cut says that the lines up to it were dropped.
const (
	KindSeen = "seen"
	KindCut  = "cut"
)

// Line is one record in its place.
type Line struct {
	Sequence int64 `json:"seq"`
	// Previous is the hash of the line before, in hex; empty for the first.
	Previous string `json:"prev"`
	Hash     string `json:"hash"`
	// Record is JSON, hashed as it stands without spaces between its parts.
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

// End is how far a chain goes.
type End struct {
	Sequence int64
	Hash     string
}

// End is the end of a chain whose last line this is.
func (l Line) End() End { return End{l.Sequence, l.Hash} }

// Broken says where a chain is broken.
type Broken struct {
	// Sequence is the first line that is not what it was.
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
		return e, broken(l.Sequence, "it stands after line %d", e.Sequence)
	case l.Previous != e.Hash:
		return e, broken(want, "it does not follow the line before: one of the two was exchanged")
	}
	record, err := compact(l.Record)
	if err != nil {
		return e, broken(want, "its record is no JSON")
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

// Checkpoint says, signed, how far a chain went at a time.
type Checkpoint struct {
	Kind     string `json:"kind"`
	Sequence int64  `json:"seq"`
	Hash     string `json:"hash"`
	// At is microseconds since 1970 UTC.
	At int64 `json:"at"`
	// KeyID and Signature are of the hub's signing key.
	KeyID     string `json:"key_id"`
	Signature []byte `json:"signature"`
}

// Payload is what is signed.
func (c Checkpoint) Payload() []byte {
	return []byte("axle-audit-checkpoint\n" + c.Kind + "\n" + strconv.FormatInt(c.Sequence, 10) + "\n" + c.Hash + "\n" + strconv.FormatInt(c.At, 10) + "\n")
}

// End is the end of the chain that the checkpoint saw.
func (c Checkpoint) End() End { return End{c.Sequence, c.Hash} }

// Check returns nil when the key signed the checkpoint, else a *Broken.
func (c Checkpoint) Check(key ed25519.PublicKey) error {
	if len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, c.Payload(), c.Signature) {
		return broken(c.Sequence, "the signature of its checkpoint is not by the hub's key %s", c.KeyID)
	}
	return nil
}

// Match returns a *Broken when the line at a checkpoint is another than the
// checkpoint saw.
func (c Checkpoint) Match(l Line) error {
	if l.Sequence == c.Sequence && l.Hash != c.Hash {
		return broken(l.Sequence, "it, or a line before, is not the one that the checkpoint of key %s saw", c.KeyID)
	}
	return nil
}

// Reach returns a *Broken when a chain ends before a checkpoint.
func (c Checkpoint) Reach(end End) error {
	if end.Sequence < c.Sequence {
		return broken(end.Sequence+1, "the end is missing: a checkpoint saw line %d; lines were deleted, or the database is an older backup", c.Sequence)
	}
	return nil
}
