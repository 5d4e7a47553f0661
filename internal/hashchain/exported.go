package hashchain

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// maxLine bounds one exported line, in bytes.
const maxLine = 1 << 20

// Exported is one line of an export: a line of the chain, a checkpoint, or a gap,
// which says what was not exported.
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

// Result is the result of Verify.
type Result struct {
	Lines, Checkpoints int
	// Unknown counts checkpoints whose keys were not given.
	Unknown int
	// First is the first line, Last the end of the chain.
	First int64
	Last  End
	Gaps  []Gap
}

// Verify reads an export to its end and returns the result, with a *Broken for the
// first invalid line. The export may begin with any line. Checkpoints are verified
// with the given keys, by id. Repeated lines, as after a repeated export, must be
// equal. Kept checkpoints must be within the export and signed, unless keys is nil.
func Verify(r io.Reader, keys map[string]ed25519.PublicKey, kept ...Checkpoint) (Result, error) {
	v := verifier{keys: keys, kept: map[int64][]Checkpoint{}}
	for _, c := range kept {
		v.kept[c.Sequence] = append(v.kept[c.Sequence], c)
	}
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	for n := 1; in.Scan(); n++ {
		if len(in.Bytes()) == 0 {
			continue
		}
		var e Exported
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			return v.Result, broken(v.Last.Sequence+1, "line %d of the file is not JSON", n)
		}
		if err := v.take(e); err != nil {
			return v.Result, err
		}
	}
	if errors.Is(in.Err(), bufio.ErrTooLong) {
		return v.Result, broken(v.Last.Sequence+1, "a line of the file is longer than %d bytes", maxLine)
	}
	if in.Err() != nil {
		return v.Result, in.Err()
	}
	return v.Result, v.missing()
}

// missing returns a *Broken for the first kept checkpoint that the export does not
// contain.
func (v *verifier) missing() error {
	if len(v.kept) == 0 {
		return nil
	}
	sequence := slices.Min(slices.Collect(maps.Keys(v.kept)))
	if sequence < v.First {
		return broken(sequence, "the export begins at line %d, after the kept checkpoint; give an export that goes further back", v.First)
	}
	if err := v.kept[sequence][0].Reach(v.Last); err != nil {
		return err
	}
	return broken(sequence, "it is not in the export, but a kept checkpoint covers it")
}

type verifier struct {
	Result
	keys    map[string]ed25519.PublicKey
	started bool
	// kept are checkpoints whose line has not been read yet, by sequence.
	kept map[int64][]Checkpoint
	// repeat are the hashes of the last lines, for an export that repeats lines.
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
			return broken(l.Sequence, "it appears twice with different content")
		}
		return nil
	}
	if !v.started {
		if l.Sequence <= v.Last.Sequence || (l.Sequence == 1 && l.Previous != "") {
			return broken(l.Sequence, "it appears after line %d", v.Last.Sequence)
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
	for _, c := range v.kept[l.Sequence] {
		if err := c.Match(l); err != nil {
			return err
		}
		if err := c.Check(v.keys[c.KeyID]); err != nil && v.keys != nil {
			return err
		}
	}
	delete(v.kept, l.Sequence)
	v.Last = end
	v.Lines++
	v.remember(l)
	return nil
}

// remembered is how many hashes are kept to recognise repeated lines.
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

// maxCheckpoints bounds the result of ReadCheckpoints.
const maxCheckpoints = 1000

// ReadCheckpoints reads kept checkpoints, one per line, and returns the last 1,000 of
// them. Lines of an export are accepted; those that are not checkpoints of the kind
// seen are skipped, and so are the lines that end too early, which are returned: whoever
// wrote one was killed, or its disk was full. An error names the line.
func ReadCheckpoints(r io.Reader) (all []Checkpoint, torn []int, err error) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	for n := 1; in.Scan(); n++ {
		// After a power failure zeros may be where the end of a line was to be.
		text := bytes.TrimRight(in.Bytes(), "\x00")
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		var line struct {
			Checkpoint
			Exported *Checkpoint     `json:"checkpoint"`
			Record   json.RawMessage `json:"record"`
		}
		if err := json.Unmarshal(text, &line); err != nil {
			if errors.Is(json.NewDecoder(bytes.NewReader(text)).Decode(&json.RawMessage{}), io.ErrUnexpectedEOF) {
				torn = append(torn, n)
				continue
			}
			return nil, nil, fmt.Errorf("line %d is not JSON: %w", n, err)
		}
		if line.Exported != nil {
			line.Checkpoint = *line.Exported
		}
		switch c := line.Checkpoint; {
		case line.Record != nil:
		case c.Kind != KindSeen || c.Sequence <= 0 || c.Hash == "" || c.KeyID == "" || len(c.Signature) != ed25519.SignatureSize:
			return nil, nil, fmt.Errorf("line %d is not a checkpoint of the audit log", n)
		default:
			all = append(all, c)
		}
	}
	return all[max(0, len(all)-maxCheckpoints):], torn, in.Err()
}

// String describes the result for people.
func (r Result) String() string {
	if r.Lines == 0 {
		return "no records"
	}
	return fmt.Sprintf("%d records, %d to %d, and %d checkpoints", r.Lines, r.First, r.Last.Sequence, r.Checkpoints)
}
