package event

import (
	"strconv"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
)

// Position is a place in the feed: a sequence number within one incarnation of
// the hub's database. The zero value is before everything.
type Position struct {
	// Incarnation is "<start micros, 14 hex>-<4 hex>"; later ones sort after
	// earlier ones as text.
	Incarnation string
	// Sequence counts from 1 within the incarnation.
	Sequence int64
}

// String returns the form used in headers: "<incarnation>.<sequence>", empty
// for the zero value.
func (p Position) String() string {
	if p == (Position{}) {
		return ""
	}
	return p.Incarnation + "." + strconv.FormatInt(p.Sequence, 10)
}

// ParsePosition reads the form that String writes; empty text is the zero
// position. Errors are Invalid.
func ParsePosition(text string) (Position, error) {
	if text == "" {
		return Position{}, nil
	}
	incarnation, sequence, ok := strings.Cut(text, ".")
	n, err := strconv.ParseInt(sequence, 10, 64)
	if !ok || err != nil || n < 0 || incarnation == "" || len(incarnation) > 64 {
		return Position{}, errcode.New(errcode.Invalid, "position %.80q is not <incarnation>.<sequence>", text)
	}
	return Position{incarnation, n}, nil
}

// Before reports whether p is an older place than o. Any place of a newer
// incarnation is after every place of an older one.
func (p Position) Before(o Position) bool {
	if p.Incarnation != o.Incarnation {
		return p.Incarnation < o.Incarnation
	}
	return p.Sequence < o.Sequence
}

// Incarnation is one life of the hub's database.
type Incarnation struct {
	// ID sorts by start time as text.
	ID string
	// StartedAt is when this life began.
	StartedAt time.Time
	// ParentID is the life before, empty for the first.
	ParentID string
	// ParentKeptSequence is the parent's last sequence that this life holds.
	ParentKeptSequence int64
	// ParentKeptAt is when that sequence was committed.
	ParentKeptAt time.Time
	// Confirmed says that a person, or the rules of a clean fail-over, accepted
	// this life; while false after a restore, agents hold deletes.
	Confirmed bool
}
