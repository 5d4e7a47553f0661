package hubclient

import (
	"strconv"
	"strings"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
)

// Position is a place in the hub's change feed. The zero value is before all.
type Position struct {
	// Incarnation is one life of the hub's database; later ones sort after
	// earlier ones as text.
	Incarnation string
	// Sequence counts changes within the incarnation, from 1.
	Sequence int64
}

// String writes the form of the headers: "<incarnation>.<sequence>", empty for
// the zero value.
func (p Position) String() string {
	if p == (Position{}) {
		return ""
	}
	return p.Incarnation + "." + strconv.FormatInt(p.Sequence, 10)
}

// ParsePosition reads what String writes. Errors are Invalid.
func ParsePosition(text string) (Position, error) {
	if text == "" {
		return Position{}, nil
	}
	incarnation, digits, ok := strings.Cut(text, ".")
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || n < 0 || incarnation == "" || len(incarnation) > 64 {
		return Position{}, errcode.New(errcode.Invalid, "position %.80q is not <incarnation>.<sequence>", text)
	}
	return Position{incarnation, n}, nil
}

// Before reports whether p is older than o. Every place of a newer incarnation
// is after every place of an older one.
func (p Position) Before(o Position) bool {
	if p.Incarnation != o.Incarnation {
		return p.Incarnation < o.Incarnation
	}
	return p.Sequence < o.Sequence
}

func positionOf(p *agentv1.Position) Position {
	return Position{p.GetIncarnation(), p.GetSequence()}
}
