package hashchain

import (
	"bufio"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds one exported line, in bytes.
const maxLine = 1 << 20

// Exported is one line of an export: a line of the chain, a checkpoint, or a
// gap, which says what was not exported.
type Exported struct {
	*Line
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
	Gap        *Gap        `json:"gap,omitempty"`
}

// Gap says which lines were dropped before they could be exported.
type Gap struct {
	From   int64  `json:"from"`
	To     int64  `json:"to"`
	Reason string `json:"reason"`
}

// Result is what Verify found.
type Result struct {
	Lines, Checkpoints int
	// Unknown counts checkpoints of keys that were not given.
	Unknown int
	// First is the first line, Last the end.
	First int64
	Last  End
	Gaps  []Gap
}

// Verify reads an export to its end and returns what it found, with a *Broken
// for the first line that is not what it was. It begins with whatever line the
// export begins with. Checkpoints are checked against those of the keys that
// are given, by id. Lines that come twice, as after an export that was
// repeated, must be equal.
func Verify(r io.Reader, keys map[string]ed25519.PublicKey) (Result, error) {
	v := verifier{keys: keys}
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	for n := 1; in.Scan(); n++ {
		if len(in.Bytes()) == 0 {
			continue
		}
		var e Exported
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			return v.Result, broken(v.Last.Sequence+1, "line %d of the file is no JSON", n)
		}
		if err := v.take(e); err != nil {
			return v.Result, err
		}
	}
	if errors.Is(in.Err(), bufio.ErrTooLong) {
		return v.Result, broken(v.Last.Sequence+1, "a line of the file is longer than %d bytes", maxLine)
	}
	return v.Result, in.Err()
}

type verifier struct {
	Result
	keys    map[string]ed25519.PublicKey
	started bool
	// repeat are the hashes of the last lines, for an export that went back.
	repeat map[int64]string
}

func (v *verifier) take(e Exported) error {
	switch {
	case e.Gap != nil:
		v.Gaps = append(v.Gaps, *e.Gap)
		v.started = false
		return nil
	case e.Checkpoint != nil:
		return v.checkpoint(*e.Checkpoint)
	case e.Line == nil:
		return broken(v.Last.Sequence+1, "a line of the file is neither a record nor a checkpoint")
	}
	return v.line(*e.Line)
}

func (v *verifier) line(l Line) error {
	if hash, seen := v.repeat[l.Sequence]; seen && l.Sequence <= v.Last.Sequence {
		if hash != l.Hash {
			return broken(l.Sequence, "it comes twice and differs")
		}
		return nil
	}
	if !v.started {
		if l.Sequence <= v.Last.Sequence || (l.Sequence == 1 && l.Previous != "") {
			return broken(l.Sequence, "it stands after line %d", v.Last.Sequence)
		}
		v.started, v.Last = true, End{l.Sequence - 1, l.Previous}
		if v.First == 0 {
			v.First = l.Sequence
		}
	}
	end, err := v.Last.Follow(l)
	if err != nil {
		return err
	}
	v.Last = end
	v.Lines++
	v.remember(l)
	return nil
}

// remembered is how many hashes are kept to know repeated lines by.
const remembered = 2000

func (v *verifier) remember(l Line) {
	if v.repeat == nil {
		v.repeat = map[int64]string{}
	}
	v.repeat[l.Sequence] = l.Hash
	delete(v.repeat, l.Sequence-remembered)
}

func (v *verifier) checkpoint(c Checkpoint) error {
	v.Checkpoints++
	key, known := v.keys[c.KeyID]
	if !known {
		v.Unknown++
	} else if err := c.Check(key); err != nil {
		return err
	}
	if hash, seen := v.repeat[c.Sequence]; seen {
		return c.Match(Line{Sequence: c.Sequence, Hash: hash})
	}
	if c.Kind == KindSeen && v.started && c.Sequence > v.Last.Sequence {
		return c.Reach(v.Last)
	}
	return nil
}

// String says what was found, for people.
func (r Result) String() string {
	if r.Lines == 0 {
		return "no records"
	}
	return fmt.Sprintf("%d records, %d to %d, and %d checkpoints", r.Lines, r.First, r.Last.Sequence, r.Checkpoints)
}
