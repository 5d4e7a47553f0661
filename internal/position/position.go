// Package position is a position in the hub's change feed, in the one format that
// hub, agents and clients put into headers and compare. It reads no feed and keeps
// nothing; hub/event defines what the numbers mean.
package position

import (
	"strconv"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
)

// maxIncarnation bounds an incarnation's text, in bytes, because it comes from
// untrusted headers.
const maxIncarnation = 64

// Position is a sequence number within one incarnation of the hub's database.
// The zero value is before everything.
type Position struct {
	// Incarnation is "<start micros, 14 hex>-<4 hex>"; later ones sort after earlier
	// ones as text.
	Incarnation string
	// Sequence counts from 1 within the incarnation.
	Sequence int64
}

// String returns the format of the headers: "<incarnation>.<sequence>", empty for the
// zero value.
func (p Position) String() string {
	if p == (Position{}) {
		return ""
	}
	return p.Incarnation + "." + strconv.FormatInt(p.Sequence, 10)
}

// Parse parses the format of String; empty text is the zero position. Errors are
// Invalid.
func Parse(text string) (Position, error) {
	if text == "" {
		return Position{}, nil
	}
	incarnation, sequence, ok := strings.Cut(text, ".")
	n, err := strconv.ParseInt(sequence, 10, 64)
	if !ok || err != nil || n < 0 || incarnation == "" || len(incarnation) > maxIncarnation {
		return Position{}, errcode.New(errcode.Invalid, "position %.80q is not <incarnation>.<sequence>", text)
	}
	return Position{incarnation, n}, nil
}

// Before reports whether p is older than o. Every position of a newer incarnation is
// after all positions of an older one.
func (p Position) Before(o Position) bool {
	if p.Incarnation != o.Incarnation {
		return p.Incarnation < o.Incarnation
	}
	return p.Sequence < o.Sequence
}
